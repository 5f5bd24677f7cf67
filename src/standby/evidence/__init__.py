"""Evidence: the structured log, the record of a turn, its replay through `decide`, and the words for it (SPEC 14)."""
