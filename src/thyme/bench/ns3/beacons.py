"""The reference beacon scenario in ns-3, run by an interpreter that has the PyPI package `ns3` (not by ours).

    python beacons.py TOPOLOGY.csv SECONDS RUN

prints frames, bytes, receptions and the CPU seconds of the event loop as JSON. The whole scenario is C++ that the
bindings compile; no Python is called while it runs, so the time is ns-3's own. Nothing of Thyme is imported here:
this file must run in an environment that knows nothing else.
"""

from __future__ import annotations

import csv
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

SCENARIO = r"""
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

namespace beacons
{
using namespace ns3;

uint64_t g_frames = 0;
uint64_t g_bytes = 0;
uint64_t g_sent = 0;
uint64_t g_received = 0;

void PhyTx(Ptr<const Packet> packet, double)
{
    g_frames += 1;
    g_bytes += packet->GetSize();
}

void Heard(Ptr<Socket> socket)
{
    while (socket->Recv())
    {
        g_received += 1;
    }
}

struct Beacon
{
    Ptr<Socket> socket;
    Ptr<UniformRandomVariable> gap;
    Time until;

    void Send()
    {
        if (Simulator::Now() >= until)
        {
            return;
        }
        socket->Send(Create<Packet>(50));
        g_sent += 1;
        Simulator::Schedule(Seconds(gap->GetValue()), &Beacon::Send, this);
    }
};

std::vector<Beacon*> g_beacons;

void Build(const std::vector<double>& x, const std::vector<double>& y, double seconds, uint64_t run)
{
    RngSeedManager::SetSeed(12345);
    RngSeedManager::SetRun(run);
    NodeContainer nodes;
    nodes.Create(x.size());
    Ptr<ListPositionAllocator> places = CreateObject<ListPositionAllocator>();
    for (std::size_t i = 0; i < x.size(); i++)
    {
        places->Add(Vector(x[i], y[i], 0.0));
    }
    MobilityHelper mobility;
    mobility.SetPositionAllocator(places);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(nodes);
    YansWifiChannelHelper channel = YansWifiChannelHelper::Default();
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211g);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue("ErpOfdmRate6Mbps"),
                                 "ControlMode", StringValue("ErpOfdmRate6Mbps"),
                                 "NonUnicastMode", StringValue("ErpOfdmRate6Mbps"));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    InternetStackHelper internet;
    internet.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.0.0");
    addresses.Assign(devices);
    Ptr<UniformRandomVariable> first = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < nodes.GetN(); i++)
    {
        DynamicCast<WifiNetDevice>(devices.Get(i))->GetPhy()->TraceConnectWithoutContext(
            "PhyTxBegin", MakeCallback(&PhyTx));
        Ptr<Socket> ear = Socket::CreateSocket(nodes.Get(i), UdpSocketFactory::GetTypeId());
        ear->Bind(InetSocketAddress(Ipv4Address::GetAny(), 4000));
        ear->SetRecvCallback(MakeCallback(&Heard));
        Ptr<Socket> mouth = Socket::CreateSocket(nodes.Get(i), UdpSocketFactory::GetTypeId());
        mouth->SetAllowBroadcast(true);
        mouth->Connect(InetSocketAddress(Ipv4Address("255.255.255.255"), 4000));
        Beacon* beacon = new Beacon;
        beacon->socket = mouth;
        beacon->gap = CreateObject<UniformRandomVariable>();
        beacon->gap->SetAttribute("Min", DoubleValue(0.9));
        beacon->gap->SetAttribute("Max", DoubleValue(1.1));
        beacon->until = Seconds(seconds);
        g_beacons.push_back(beacon);
        Simulator::Schedule(Seconds(first->GetValue()), &Beacon::Send, beacon);
    }
    Simulator::Stop(Seconds(seconds));
}
} // namespace beacons
"""


def main(topology: Path, seconds: float, run: int) -> None:
    from ns import ns  # type: ignore[import-not-found]

    cpp: Any = ns.cppyy
    cpp.cppdef(SCENARIO)
    with topology.open(newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["node"]))
    x = cpp.gbl.std.vector["double"]([float(row["x_m"]) for row in rows])
    y = cpp.gbl.std.vector["double"]([float(row["y_m"]) for row in rows])
    world = cpp.gbl.beacons
    world.Build(x, y, seconds, run)
    before_s = time.process_time()
    cpp.gbl.ns3.Simulator.Run()
    cpu_s = time.process_time() - before_s
    figures = {
        "cpu_s": cpu_s,
        "frames": int(world.g_frames),
        "bytes": int(world.g_bytes),
        "sent": int(world.g_sent),
        "received": int(world.g_received),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(figures))
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
