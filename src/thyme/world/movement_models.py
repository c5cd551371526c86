"""The only list of movement models."""

from thyme.world.files.contacts import RecordedContacts
from thyme.world.files.movement import RecordedMovement
from thyme.world.mobility.community import Community
from thyme.world.mobility.placement import Places, Static
from thyme.world.mobility.waypoint import Waypoint

MovementModel = Static | Waypoint | Community | Places | RecordedMovement | RecordedContacts

__all__ = ["Community", "MovementModel", "Places", "RecordedContacts", "RecordedMovement", "Static", "Waypoint"]
