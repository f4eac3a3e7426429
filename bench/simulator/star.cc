// The star for ns-3: N clients - 10 Mb/s, 3 ms - gateway - N Mb/s (cbr: 155 Mb/s), 10 ms - server. star.tcl is the same for ns-2.
// usage: star-ns3 tcp|cbr N SECONDS
// Prints packet-hops, and the packets that they are derived from.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>
#include <string>

using namespace ns3;

// Makes a duplex link with a separate queue length in each direction, and no queue above the device.
static void Connect(Ptr<Node> one, Ptr<Node> other, double mbps, int delay_ms, int there, int back, Ipv4AddressHelper& addresses, Ipv4Address& of_other) {
  PointToPointHelper link;
  link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(mbps * 1e6))));
  link.SetChannelAttribute("Delay", TimeValue(MilliSeconds(delay_ms)));
  NetDeviceContainer ends = link.Install(one, other);
  int limits[] = {there, back};
  for (int end = 0; end < 2; end++) {
    auto device = DynamicCast<PointToPointNetDevice>(ends.Get(end));
    device->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, limits[end]));
  }
  Ipv4InterfaceContainer interfaces = addresses.Assign(ends);
  TrafficControlHelper().Uninstall(ends);
  addresses.NewNetwork();
  of_other = interfaces.GetAddress(1);
}

int main(int argc, char* argv[]) {
  if (argc != 4) {
    std::cerr << "usage: star-ns3 tcp|cbr N SECONDS" << std::endl;
    return 2;
  }
  const bool tcp = std::string(argv[1]) == "tcp";
  const int clients = std::stoi(argv[2]);
  const double seconds = std::stod(argv[3]);
  const uint32_t payload = tcp ? 1460 : 1472;

  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(payload));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 * payload));
  // A larger one causes a segmentation fault in ns-3.37.
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(64 * payload));
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));

  NodeContainer hubs, leaves;
  hubs.Create(2);
  leaves.Create(clients);
  InternetStackHelper stack;
  stack.Install(hubs);
  stack.Install(leaves);
  Ptr<Node> gateway = hubs.Get(0), server = hubs.Get(1);
  Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
  Ipv4Address to, unused;
  Connect(gateway, server, tcp ? clients : 155, 10, tcp ? 2 * clients : 1000, 100000, addresses, to);

  const uint16_t port = 9;
  const std::string factory = tcp ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
  ApplicationContainer sink = PacketSinkHelper(factory, InetSocketAddress(Ipv4Address::GetAny(), port)).Install(server);
  for (int client = 0; client < clients; client++) {
    Connect(leaves.Get(client), gateway, 10, 3, 1000, 1000, addresses, unused);
    ApplicationContainer source;
    if (tcp) {
      BulkSendHelper ftp(factory, InetSocketAddress(to, port));
      ftp.SetAttribute("SendSize", UintegerValue(payload));
      source = ftp.Install(leaves.Get(client));
      source.Start(Seconds(0.01 * (client % 100)));
    } else {
      OnOffHelper cbr(factory, InetSocketAddress(to, port));
      // 3 Mb/s of IP packets of 1500 B.
      cbr.SetConstantRate(DataRate(static_cast<uint64_t>(3e6 * payload / 1500)), payload);
      source = cbr.Install(leaves.Get(client));
      source.Start(Seconds(0.000077 * client));
    }
  }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  // A device whose queue is full refuses the packet, and the layer above drops it.
  uint64_t dropped = 0;
  gateway->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext("TcDrop", Callback<void, Ptr<const Packet>>([&dropped](Ptr<const Packet>) { dropped++; }));
  Simulator::Stop(Seconds(seconds));
  Simulator::Run();

  // A packet that arrives has made two hops and, of TCP, its acknowledgement two more; one that the bottleneck drops has made one.
  const uint64_t arrived = DynamicCast<PacketSink>(sink.Get(0))->GetTotalRx() / payload;
  const uint64_t hops = (tcp ? 4 : 2) * arrived + dropped;
  std::cout << "hops " << hops << " dropped " << dropped << " arrived " << arrived << std::endl;
  Simulator::Destroy();
  return 0;
}
