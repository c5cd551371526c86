"""Which score and which router the settings ask for."""

from __future__ import annotations

from random import Random

from thyme.approaches.socialcast.options import SocialCastOptions
from thyme.approaches.socialcast.prophet import Predictabilities
from thyme.approaches.socialcast.routers import BestCarrier, Epidemic, Prophet, RandomCarrier, Router, SprayAndWait
from thyme.approaches.socialcast.utilities import CarrierScore, Utilities
from thyme.wire.socialcast import UNIT


def score_of(options: SocialCastOptions) -> CarrierScore:
    return Predictabilities(options.prophet) if options.routing == "prophet" else Utilities(options.utilities)


def router_of(options: SocialCastOptions, score: CarrierScore, random: Random) -> Router:
    match options.routing:
        case "prediction":
            return BestCarrier(score, round(UNIT * options.hysteresis))
        case "none":
            return RandomCarrier(random)
        case "epidemic":
            return Epidemic()
        case "spray":
            return SprayAndWait()
        case "prophet":
            return Prophet(score)
