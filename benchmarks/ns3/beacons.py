"""The reference beacon scenario in ns-3, run by an interpreter that has the PyPI package `ns3` (not by ours).

    python beacons.py TOPOLOGY.csv SECONDS RUN

prints frames, bytes, receptions and the CPU seconds of the event loop as JSON. Every node broadcasts 50 bytes about
once a second.
"""

from __future__ import annotations

from crowd import play  # type: ignore[import-not-found]

SCENARIO = r"""
namespace beacons
{
using namespace ns3;

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
        crowd::g_sent += 1;
        Simulator::Schedule(Seconds(gap->GetValue()), &Beacon::Send, this);
    }
};

std::vector<Beacon*> g_beacons;

void Build(const std::vector<double>& x, const std::vector<double>& y, double seconds, uint64_t run)
{
    NodeContainer nodes;
    crowd::Place(nodes, x, y, run);
    NetDeviceContainer devices = crowd::Radios(nodes);
    InternetStackHelper internet;
    crowd::Addresses(nodes, devices, internet);
    Ptr<UniformRandomVariable> first = CreateObject<UniformRandomVariable>();
    for (uint32_t i = 0; i < nodes.GetN(); i++)
    {
        crowd::Listen(nodes.Get(i));
        Ptr<Socket> mouth = Socket::CreateSocket(nodes.Get(i), UdpSocketFactory::GetTypeId());
        mouth->SetAllowBroadcast(true);
        mouth->Connect(InetSocketAddress(Ipv4Address("255.255.255.255"), crowd::PORT));
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

if __name__ == "__main__":
    play(SCENARIO, "beacons")
