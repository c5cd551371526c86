"""What reading an update leaves to be done, any of these together."""

from __future__ import annotations

READY = 1
"""Something can be told at once."""
RESETTLED = 2
"""The next settling time is another one."""
SETTLE = 4
"""The timer that ends settling must be set."""
TRIGGER = 8
"""The timer that tells news must be set."""
ATTEND = 16
"""Something besides the table waits for updates."""
MUST = SETTLE | TRIGGER | ATTEND
