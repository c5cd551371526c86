"""Radio profiles and MAC options: every physical constant and every maximum of the 802.11g radio.

`def` and `p27` are the two worlds in which ns-3.44 was measured for this project (its present defaults, and an
emulation of ns-3.27's, the papers' world). `thyme` is ours: `p27` with 2.98 dB more transmit power and nothing else
changed. `ns3` is `p27` with broadcasts at 1 Mb/s, as ns-3 sends them when nobody sets NonUnicastMode: the papers'
"default values of the simulator" taken by the letter. Under a log-distance law of exponent 3 that stretches every
distance of `p27` by 10^(2.98/30) = 1.257: the 0.99 reception distance of a 1000-byte payload moves from 91.3 m to
114.8 m, past the 113.1 m = 2√2·40 m that nodes in adjacent 40 m cells may be apart (the papers' ±113 m), the
half-way point from 99.7 m to 125 m, and carrier sense keeps its proportion (190 m becomes 238 m).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from thyme.model.errors import InputError
from thyme.model.settings.bounds import AtLeastOne, Count, Positive

ERROR_MODELS = ("nist", "table")
BROADCAST_MODES = ("ofdm6", "dsss1")
CW_MAX = 1023
"""The widest contention window in slots (802.11)."""
HEADER_BYTES = 64
"""8 UDP + 20 IP + 8 LLC + 24 MAC + 4 FCS."""
PSDU_MAX_BYTES = 4095
"""The longest PSDU that the OFDM length field can say."""
SIFS_US = 10.0
SLOT_US = 20.0
"""802.11g's in the 2.4 GHz band, with the long slot of an ad hoc network."""
DETECTION_US = 4.0
"""How long a preamble must last before it is noticed (ns-3.44)."""


class WifiProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Hardware and propagation. Powers in dBm, as in a data sheet."""

    name: str
    tx_power_dbm: float = 16.0206
    noise_figure_db: float = 7.0
    path_loss_exponent: float = 3.0
    path_loss_1m_db: float = 46.6777
    rx_sensitivity_dbm: float = -101.0  # weaker signals do not even interfere
    preamble_min_dbm: float
    preamble_min_snr_db: float | None  # None: any preamble above `preamble_min_dbm` is detected
    cca_dbm: float  # energy at which the medium counts as busy
    error_model: str
    broadcast_mode: str | None = None  # None: that of the options


class WifiOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The MAC. The values are those of ns-3.44's 802.11g ad hoc MAC (long slot, DCF)."""

    broadcast_mode: Literal["ofdm6", "dsss1"] = "ofdm6"
    """dsss1 is ns-3's default for NonUnicastMode."""
    rts_threshold_bytes: Count = 1500
    """Frames with a longer PSDU are announced by RTS/CTS."""
    retry_limit: AtLeastOne = 7
    """Transmissions of one unicast frame, the first one included."""
    cw_min: AtLeastOne = 15
    """Smallest contention window, in slots."""
    queue_max: AtLeastOne = 500
    """Frames waiting at one node."""
    lifetime_s: Positive = 0.5
    """How long a frame may wait."""


_PROFILES = (
    WifiProfile(name="def", preamble_min_dbm=-82.0, preamble_min_snr_db=4.0, cca_dbm=-82.0, error_model="table"),
    WifiProfile(name="p27", preamble_min_dbm=-96.0, preamble_min_snr_db=None, cca_dbm=-99.0, error_model="nist"),
    WifiProfile(
        name="ns3",
        preamble_min_dbm=-96.0,
        preamble_min_snr_db=None,
        cca_dbm=-99.0,
        error_model="nist",
        broadcast_mode="dsss1",
    ),
    WifiProfile(
        name="thyme",
        tx_power_dbm=19.0,
        preamble_min_dbm=-96.0,
        preamble_min_snr_db=None,
        cca_dbm=-99.0,
        error_model="nist",
    ),
)
PROFILES = {profile.name: profile for profile in _PROFILES}


def profile_named(name: str) -> WifiProfile:
    if name not in PROFILES:
        raise InputError(f"radio profile {name!r} is unknown; choose one of {', '.join(sorted(PROFILES))}")
    return PROFILES[name]


def check(profile: WifiProfile, options: WifiOptions) -> None:
    """Refuse values that the kernel cannot simulate; the error names the field."""
    if profile.error_model not in ERROR_MODELS:
        raise InputError(f"error_model {profile.error_model!r} is unknown; choose one of {', '.join(ERROR_MODELS)}")
    if options.broadcast_mode not in BROADCAST_MODES:
        raise InputError(
            f"broadcast_mode {options.broadcast_mode!r} is unknown; choose one of {', '.join(BROADCAST_MODES)}"
        )
    for field in ("retry_limit", "cw_min", "queue_max", "lifetime_s"):
        if getattr(options, field) <= 0:
            raise InputError(f"{field} must be positive, not {getattr(options, field)}")
    if options.cw_min > CW_MAX:
        raise InputError(f"cw_min is {options.cw_min}; expected at most {CW_MAX}, the widest window of 802.11")
    if profile.path_loss_exponent <= 0.0:
        raise InputError(f"path_loss_exponent must be positive, not {profile.path_loss_exponent}")
