"""The reference DSDV scenario in ns-3, run by an interpreter that has the PyPI package `ns3` (not by ours).

    python dsdv.py TOPOLOGY.csv SECONDS RUN [GAP_S]

prints frames, bytes, packets sent and received, and the CPU seconds of the event loop as JSON. Every node routes by
ns-3's DSDV with its defaults; from 60 to 660 s it sends 200 bytes to a random other, with exponential gaps of GAP_S
(20 s) on average.
"""

from __future__ import annotations

import sys

from crowd import play  # type: ignore[import-not-found]

SCENARIO = r"""
namespace routed
{
using namespace ns3;

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
        socket->SendTo(Create<Packet>(200), 0, InetSocketAddress(addresses->GetAddress(to), crowd::PORT));
        crowd::g_sent += 1;
        Plan(Simulator::Now());
    }
};

Ipv4InterfaceContainer g_addresses;
std::vector<Talker*> g_talkers;

void Talk(Ptr<Node> node, uint32_t index, double seconds)
{
    crowd::Listen(node);
    Talker* talker = new Talker;
    talker->node = index;
    talker->socket = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
    talker->socket->Bind();
    talker->gap = CreateObject<ExponentialRandomVariable>();
    talker->gap->SetAttribute("Mean", DoubleValue(GAP_S));
    talker->other = CreateObject<UniformRandomVariable>();
    talker->addresses = &g_addresses;
    talker->until = Seconds(std::min(seconds, 660.0));
    g_talkers.push_back(talker);
    talker->Plan(Seconds(60.0));
}

void Build(const std::vector<double>& x, const std::vector<double>& y, double seconds, uint64_t run)
{
    NodeContainer nodes;
    crowd::Place(nodes, x, y, run);
    NetDeviceContainer devices = crowd::Radios(nodes);
    DsdvHelper dsdv;
    InternetStackHelper internet;
    internet.SetRoutingHelper(dsdv);
    g_addresses = crowd::Addresses(nodes, devices, internet);
    for (uint32_t i = 0; i < nodes.GetN(); i++)
    {
        Talk(nodes.Get(i), i, seconds);
    }
    Simulator::Stop(Seconds(seconds));
}
} // namespace routed
"""

if __name__ == "__main__":
    gap_s = float(sys.argv[4]) if len(sys.argv) > 4 else 20.0
    play(SCENARIO.replace("GAP_S", str(gap_s)), "routed")
