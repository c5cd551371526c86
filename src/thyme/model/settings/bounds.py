"""Numbers with bounds, for the fields of settings; `check_bounds` holds records to them that no table was made into."""

from typing import Annotated

from msgspec import Meta

Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Probability = Share
Positive = Annotated[float, Meta(gt=0.0)]
NotNegative = Annotated[float, Meta(ge=0.0)]
Count = Annotated[int, Meta(ge=0)]
AtLeastOne = Annotated[int, Meta(ge=1)]
