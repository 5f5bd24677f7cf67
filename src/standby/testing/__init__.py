"""What a test of failover needs, shipped: time in the hand, scripted providers, a server that fails on request."""
