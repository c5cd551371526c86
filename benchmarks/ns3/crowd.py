"""What the reference scenarios share in ns-3: a crowd that stands still, each with an 802.11g radio at 6 Mbit/s.

Run by an interpreter that has the PyPI package `ns3` (not by ours), as a file beside the scenario's. A scenario is
C++ that the bindings compile: a namespace with a function `Build`. No Python is called while it runs, so the time is
ns-3's own. Nothing of Thyme is imported here: this file must run in an environment that knows nothing else.
"""

from __future__ import annotations

import csv
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

CROWD = r"""
#include "ns3/core-module.h"
#include "ns3/dsdv-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

namespace crowd
{
using namespace ns3;

const uint16_t PORT = 4000;

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

void Place(NodeContainer& nodes, const std::vector<double>& x, const std::vector<double>& y, uint64_t run)
{
    RngSeedManager::SetSeed(12345);
    RngSeedManager::SetRun(run);
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
}

NetDeviceContainer Radios(NodeContainer& nodes)
{
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
                                 "NonUnicastMode", StringValue("ErpOfdmRate6Mbps"),
                                 "RtsCtsThreshold", UintegerValue(1500));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    for (uint32_t i = 0; i < nodes.GetN(); i++)
    {
        DynamicCast<WifiNetDevice>(devices.Get(i))->GetPhy()->TraceConnectWithoutContext(
            "PhyTxBegin", MakeCallback(&PhyTx));
    }
    return devices;
}

Ipv4InterfaceContainer Addresses(NodeContainer& nodes, NetDeviceContainer& devices, InternetStackHelper& internet)
{
    internet.Install(nodes);
    Ipv4AddressHelper subnet;
    subnet.SetBase("10.0.0.0", "255.255.0.0");
    return subnet.Assign(devices);
}

void Listen(Ptr<Node> node)
{
    Ptr<Socket> ear = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
    ear->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    ear->SetRecvCallback(MakeCallback(&Heard));
}
} // namespace crowd
"""


def compiled(scenario: str) -> Any:
    """C++ as the bindings see it, once ns-3 and the scenario are compiled."""
    from ns import ns  # type: ignore[import-not-found]

    ns.cppyy.cppdef(CROWD + scenario)
    return ns.cppyy


def play(scenario: str, namespace: str) -> None:
    """Run the scenario on `TOPOLOGY.csv SECONDS RUN` of the command line; prints its figures as JSON."""
    topology, seconds, run = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    cpp = compiled(scenario)
    with topology.open(newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["node"]))
    x = cpp.gbl.std.vector["double"]([float(row["x_m"]) for row in rows])
    y = cpp.gbl.std.vector["double"]([float(row["y_m"]) for row in rows])
    getattr(cpp.gbl, namespace).Build(x, y, seconds, run)
    before_s = time.process_time()
    cpp.gbl.ns3.Simulator.Run()
    counted = cpp.gbl.crowd
    figures = {
        "cpu_s": time.process_time() - before_s,
        "frames": int(counted.g_frames),
        "bytes": int(counted.g_bytes),
        "sent": int(counted.g_sent),
        "received": int(counted.g_received),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(figures), flush=True)
