"""Subscriptions: a cell that brokers them, notifications, and the subscriber itself."""
