"""What a compiled run stops for."""

from __future__ import annotations

GO, ROOM, TELL, TELL_ONE, STEP, END, LATE = range(7)
"""Nothing; more room; a frame that Python must tell to all, or to one who hears it; an action of the engine; the end; a
frame that came too late."""
