"""What a compiled run stops for."""

from __future__ import annotations

GO, ROOM, TELL, STEP, END, LATE = 0, 1, 2, 3, 4, 5
"""Nothing; more room; a frame that Python must tell; an action of the engine; the end; a frame that came too late."""
