"""Thyme: time-aware reactive storage for crowds of devices with no infrastructure."""
