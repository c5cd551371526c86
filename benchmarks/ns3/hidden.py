"""Hidden terminals in ns-3, run by an interpreter that has the PyPI package `ns3` (not by ours).

    python hidden.py SECONDS RUNS > calib_hidden_load.csv

prints one row per payload, rate and run: two senders 90 m apart, which do not hear each other, send unicast Poisson
traffic to the node between them. What became of the packets is counted at the receiver and by the senders' MAC.
"""

from __future__ import annotations

import csv
import sys

from crowd import compiled  # type: ignore[import-not-found]

PAYLOADS_BYTES = (400, 600, 800, 1000)
RATES_PPS = (50, 100, 150, 200)
DISTANCE_M = 45
COLUMNS = ("sent", "received", "data_tx", "mac_tx_data_failed", "given_up_retries", "given_up_lifetime", "mean_delay_s")

SCENARIO = r"""
namespace hidden
{
using namespace ns3;

uint64_t g_sent, g_received, g_data_tx, g_failed, g_retries, g_lifetime;
double g_delay_s;

struct Talker
{
    Ptr<Socket> socket;
    Ptr<ExponentialRandomVariable> gap;
    uint32_t bytes;
    Time until;

    void Plan()
    {
        Simulator::Schedule(Seconds(gap->GetValue()), &Talker::Send, this);
    }

    void Send()
    {
        if (Simulator::Now() >= until)
        {
            return;
        }
        std::vector<uint8_t> payload(bytes, 0);
        int64_t now = Simulator::Now().GetNanoSeconds();
        std::memcpy(payload.data(), &now, sizeof(now));
        socket->Send(Create<Packet>(payload.data(), bytes));
        g_sent += 1;
        Plan();
    }
};

void Hear(Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        int64_t sent;
        packet->CopyData(reinterpret_cast<uint8_t*>(&sent), sizeof(sent));
        g_received += 1;
        g_delay_s += 1e-9 * (Simulator::Now().GetNanoSeconds() - sent);
    }
}

void PhyTx(Ptr<const Packet> packet, double)
{
    g_data_tx += packet->GetSize() > 100 ? 1 : 0;
}

void Failed(Mac48Address)
{
    g_failed += 1;
}

void Dropped(WifiMacDropReason reason, Ptr<const WifiMpdu>)
{
    g_retries += reason == WIFI_MAC_DROP_REACHED_RETRY_LIMIT ? 1 : 0;
    g_lifetime += reason == WIFI_MAC_DROP_EXPIRED_LIFETIME ? 1 : 0;
}

Ptr<Socket> Mouth(Ptr<Node> node, Ipv4Address to)
{
    Ptr<Socket> socket = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
    socket->Connect(InetSocketAddress(to, crowd::PORT));
    return socket;
}

void Run(uint32_t bytes, double rate, double distance_m, double seconds, uint64_t run)
{
    g_sent = g_received = g_data_tx = g_failed = g_retries = g_lifetime = 0;
    g_delay_s = 0.0;
    NodeContainer nodes;
    crowd::Place(nodes, {0.0, -distance_m, distance_m}, {0.0, 0.0, 0.0}, run);
    NetDeviceContainer devices = crowd::Radios(nodes);
    InternetStackHelper internet;
    Ipv4InterfaceContainer addresses = crowd::Addresses(nodes, devices, internet);
    NeighborCacheHelper().PopulateNeighborCache();
    Ptr<Socket> ear = Socket::CreateSocket(nodes.Get(0), UdpSocketFactory::GetTypeId());
    ear->Bind(InetSocketAddress(Ipv4Address::GetAny(), crowd::PORT));
    ear->SetRecvCallback(MakeCallback(&Hear));
    std::vector<Talker> talkers(2);
    for (uint32_t i = 0; i < 2; i++)
    {
        Ptr<WifiNetDevice> device = DynamicCast<WifiNetDevice>(devices.Get(i + 1));
        device->GetPhy()->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&PhyTx));
        device->GetMac()->TraceConnectWithoutContext("DroppedMpdu", MakeCallback(&Dropped));
        device->GetRemoteStationManager()->TraceConnectWithoutContext("MacTxDataFailed", MakeCallback(&Failed));
        talkers[i].socket = Mouth(nodes.Get(i + 1), addresses.GetAddress(0));
        talkers[i].gap = CreateObject<ExponentialRandomVariable>();
        talkers[i].gap->SetAttribute("Mean", DoubleValue(1.0 / rate));
        talkers[i].bytes = bytes;
        talkers[i].until = Seconds(1.0 + seconds);
        Simulator::Schedule(Seconds(1.0), &Talker::Plan, &talkers[i]);
    }
    Simulator::Stop(Seconds(seconds + 2.0));
    Simulator::Run();
    Simulator::Destroy();
}
} // namespace hidden
"""


def main(seconds: float, runs: int) -> None:
    scene = compiled(SCENARIO).gbl.hidden
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(("profile", "payload_bytes", "d_ab_m", "rate_pps_each", "run", *COLUMNS, "delivery"))
    for payload_bytes in PAYLOADS_BYTES:
        for rate_pps in RATES_PPS:
            for run in range(1, runs + 1):
                scene.Run(payload_bytes, float(rate_pps), float(DISTANCE_M), seconds, run)
                sent, received = int(scene.g_sent), int(scene.g_received)
                counts = (scene.g_data_tx, scene.g_failed, scene.g_retries, scene.g_lifetime)
                figures = (sent, received, *map(int, counts), f"{scene.g_delay_s / received:.6f}")
                table.writerow(("def", payload_bytes, DISTANCE_M, rate_pps, run, *figures, f"{received / sent:.5f}"))


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
