#!/bin/sh
# Sets up one virtual environment from one lock file: `sh requirements/install.sh .venv requirements/dev.txt`.
#
# A finished set-up leaves a stamp with the check sum of the lock; as long as they agree, nothing is done. The stamp
# goes first and comes last, so an interrupted set-up is begun anew.
#
# The package itself is put on the path by a .pth file, not built: no build backend has to be fetched or trusted, it
# works offline, the edited source is what runs, and as the path is relative the folder may be moved.
set -eu
cd "$(dirname "$0")/.."
venv=$1 lock=$2
stamp=$venv/.complete

fail() { echo "standby: $*" >&2; exit 1; }
wanted() { cat "$lock" requirements/install.sh | cksum; }
usable() { [ -x "$venv/bin/python" ] && "$venv/bin/python" -c '' 2>/dev/null; }
finished() { [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(wanted)" ] && usable; }

finished && exit 0

# Two set-ups at once would spoil each other: the second waits, then finds the work done.
if [ "${STANDBY_SETUP_LOCKED:-}" != "$venv" ] && command -v flock >/dev/null 2>&1; then
    STANDBY_SETUP_LOCKED=$venv exec flock "$lock" sh requirements/install.sh "$venv" "$lock"
fi

find_python() {
    problem="Python 3.11 or newer is needed, and no python3 was found; install it, or name one: make PYTHON=/path/to/python3."
    for python in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || continue
        if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            problem="Python 3.11 or newer is needed, and $python is $version; install it, or name one: make PYTHON=/path/to/python3."
        elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            problem="Python's venv module is missing for $python ($version); install it (Debian: apt install python${version%.*}-venv) and try again."
        else
            return 0
        fi
    done
    fail "$problem"
}

echo "Setting up $venv from $lock (once) ..." >&2
# Only a set-up that was complete once may be brought up to date in place; anything else starts from nothing.
if ! { [ -f "$stamp" ] && usable; }; then
    find_python
    "$python" -m venv --clear "$venv" || fail "$venv could not be created with $python (the reason is above)."
fi
rm -f "$stamp"
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_USER PIP_REQUIRE_VIRTUALENV
"$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check --no-deps \
    --only-binary :all: --require-hashes -r "$lock" ||
    fail "the packages of $lock could not be installed (pip's reason is above); run the same command again to retry."

site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo ../../../../src > "$site/standby.pth"
cat > "$venv/bin/standby" <<'LAUNCHER'
#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/python" -m standby "$@"
LAUNCHER
chmod +x "$venv/bin/standby"
wanted > "$stamp.new" && mv "$stamp.new" "$stamp"
