"""The reference DSDV scenario in ns-3, run by an interpreter that has the PyPI package `ns3` (not by ours).

    python dsdv.py TOPOLOGY.csv SECONDS RUN

prints frames, bytes, packets sent and received, and the CPU seconds of the event loop as JSON. Every node routes by
ns-3's DSDV with its defaults; from 60 to 660 s it sends 200 bytes to a random other, with exponential gaps of 20 s
on average. The whole scenario is C++ that the bindings compile; no Python is called while it runs, so the time is
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

SCENARIO = r"""
#include "ns3/core-module.h"
#include "ns3/dsdv-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

namespace routed
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

void Arrived(Ptr<Socket> socket)
{
    while (socket->Recv())
    {
        g_received += 1;
    }
}

struct Talker
{
    uint32_t node;
    Ptr<Socket> socket;
    Ptr<ExponentialRandomVariable> gap;
    Ptr<UniformRandomVariable> other;
    Ipv4InterfaceContainer* addresses;
    Time until;

    void Plan(Time after)
    {
        Time at = after + Seconds(gap->GetValue());
        if (at < until)
        {
            Simulator::Schedule(at - Simulator::Now(), &Talker::Send, this);
        }
    }

    void Send()
    {
        uint32_t to = other->GetInteger(0, addresses->GetN() - 2);
        to += to < node ? 0 : 1;
        socket->SendTo(Create<Packet>(200), 0, InetSocketAddress(addresses->GetAddress(to), PORT));
        g_sent += 1;
        Plan(Simulator::Now());
    }
};

Ipv4InterfaceContainer g_addresses;
std::vector<Talker*> g_talkers;

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
    return wifi.Install(phy, mac, nodes);
}

void Talk(Ptr<Node> node, uint32_t index, double seconds)
{
    Ptr<Socket> ear = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
    ear->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    ear->SetRecvCallback(MakeCallback(&Arrived));
    Talker* talker = new Talker;
    talker->node = index;
    talker->socket = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
    talker->socket->Bind();
    talker->gap = CreateObject<ExponentialRandomVariable>();
    talker->gap->SetAttribute("Mean", DoubleValue(20.0));
    talker->other = CreateObject<UniformRandomVariable>();
    talker->addresses = &g_addresses;
    talker->until = Seconds(std::min(seconds, 660.0));
    g_talkers.push_back(talker);
    talker->Plan(Seconds(60.0));
}

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
    NetDeviceContainer devices = Radios(nodes);
    DsdvHelper dsdv;
    InternetStackHelper internet;
    internet.SetRoutingHelper(dsdv);
    internet.Install(nodes);
    Ipv4AddressHelper subnet;
    subnet.SetBase("10.0.0.0", "255.255.0.0");
    g_addresses = subnet.Assign(devices);
    for (uint32_t i = 0; i < nodes.GetN(); i++)
    {
        DynamicCast<WifiNetDevice>(devices.Get(i))->GetPhy()->TraceConnectWithoutContext(
            "PhyTxBegin", MakeCallback(&PhyTx));
        Talk(nodes.Get(i), i, seconds);
    }
    Simulator::Stop(Seconds(seconds));
}
} // namespace routed
"""


def main(topology: Path, seconds: float, run: int) -> None:
    from ns import ns  # type: ignore[import-not-found]

    cpp: Any = ns.cppyy
    cpp.cppdef(SCENARIO)
    with topology.open(newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["node"]))
    x = cpp.gbl.std.vector["double"]([float(row["x_m"]) for row in rows])
    y = cpp.gbl.std.vector["double"]([float(row["y_m"]) for row in rows])
    world = cpp.gbl.routed
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
