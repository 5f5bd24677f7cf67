"""Standby: model failover for people who run LLM agents and applications."""
