"""One file per public protocol, both directions."""
