"""Numbers with bounds, for the fields of settings."""

from typing import Annotated

from msgspec import Meta

Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Probability = Share
AboveZeroShare = Annotated[float, Meta(gt=0.0, le=1.0)]
Positive = Annotated[float, Meta(gt=0.0)]
NotNegative = Annotated[float, Meta(ge=0.0)]
Count = Annotated[int, Meta(ge=0)]
AtLeastOne = Annotated[int, Meta(ge=1)]
