"""The stores: two ports (one agent's auth state, the machine's own state), several engines."""
