// Runs a queue discipline of ns-3 on a list of arrivals, one per line: time in ns, flow, bytes, ECN field. Prints the same format as
// crates/simulator/link/examples/departures.rs.
//
// usage: queues TYPE RATE [ATTRIBUTE=VALUE]... < ARRIVALS        (TYPE as ns3::CoDelQueueDisc, RATE in bit/s)
//
// Draws=FILE, which is not an attribute, names a file with the random numbers of the queue, one per line.

#include "ns3/core-module.h"
#include "ns3/fq-codel-queue-disc.h"
#include "ns3/network-module.h"
#include "ns3/pie-queue-disc.h"
#include "ns3/queue-disc.h"
#include "ns3/red-queue-disc.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace ns3;

// A packet that has only a number, a flow, a size and an ECN field.
class Numbered : public QueueDiscItem
{
  public:
    Numbered(uint32_t number, uint32_t flow, uint32_t bytes, uint8_t ecn)
        : QueueDiscItem(Create<Packet>(bytes), Address(), 0), m_number(number), m_flow(flow), m_ecn(ecn)
    {
    }
    void AddHeader() override {}
    bool Mark() override { return m_ecn && (m_ecn = 3); }
    bool GetUint8Value(Uint8Values field, uint8_t& value) const override
    {
        value = m_ecn;
        return field == IP_DSFIELD;
    }
    uint32_t Hash(uint32_t) const override { return m_flow; }
    uint32_t m_number, m_flow;
    uint8_t m_ecn;
};

// Returns the given numbers as random numbers.
class Recorded : public UniformRandomVariable
{
  public:
    double GetValue() override { return draws.at(next++); }
    std::vector<double> draws;
    size_t next = 0;
};

// The random variable of a queue is private. An explicit instantiation may name it nevertheless.
template <auto member, typename Tag> struct Opened
{
    friend auto Open(Tag) { return member; }
};
struct OfPie
{
    friend auto Open(OfPie);
};
template struct Opened<&PieQueueDisc::m_uv, OfPie>;
struct OfRed
{
    friend auto Open(OfRed);
};
template struct Opened<&RedQueueDisc::m_uv, OfRed>;

static Ptr<QueueDisc> queue;
static uint64_t rate;
static bool busy = false;
static uint32_t to_come = 0;

static void Tell(char what, Ptr<const QueueDiscItem> item)
{
    std::printf("%lld %c %u\n", static_cast<long long>(Simulator::Now().GetNanoSeconds()), what,
                DynamicCast<const Numbered>(item)->m_number);
}

static void Dropped(Ptr<const QueueDiscItem> item, const char*) { Tell('d', item); }

static void Marked(Ptr<const QueueDiscItem> item, const char*) { Tell('m', item); }

static void Transmit()
{
    Ptr<QueueDiscItem> item = queue->Dequeue();
    busy = item != nullptr;
    // PIE's updates would never end.
    if (!busy && !to_come) Simulator::Stop();
    if (!busy) return;
    Tell('-', item);
    Simulator::Schedule(NanoSeconds(item->GetSize() * 8000000000ULL / rate), &Transmit);
}

static void Arrive(Ptr<Numbered> item)
{
    to_come--;
    queue->Enqueue(item);
    if (!busy) Transmit();
}

int main(int argc, char** argv)
{
    if (argc < 3) return 2;
    ObjectFactory factory(argv[1]);
    rate = std::strtoull(argv[2], nullptr, 10);
    // The MTU of a device; there is no device here.
    uint32_t quantum = 1500;
    std::string draws;
    for (int i = 3; i < argc; i++)
    {
        std::string word = argv[i];
        size_t equals = word.find('=');
        std::string key = word.substr(0, equals), value = word.substr(equals + 1);
        // No attributes.
        if (key == "Quantum") quantum = std::stoul(value);
        else if (key == "Draws") draws = value;
        else factory.Set(key, StringValue(value));
    }
    queue = factory.Create<QueueDisc>();
    if (auto fq = DynamicCast<FqCoDelQueueDisc>(queue)) fq->SetQuantum(quantum);
    if (!draws.empty())
    {
        auto recorded = CreateObject<Recorded>();
        std::ifstream file(draws);
        recorded->draws.assign(std::istream_iterator<double>(file), {});
        if (auto pie = DynamicCast<PieQueueDisc>(queue)) (*pie).*Open(OfPie()) = recorded;
        if (auto red = DynamicCast<RedQueueDisc>(queue)) (*red).*Open(OfRed()) = recorded;
    }
    queue->Initialize();
    queue->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Dropped));
    queue->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&Dropped));
    queue->TraceConnectWithoutContext("Mark", MakeCallback(&Marked));
    unsigned long long at;
    unsigned flow, bytes, ecn;
    for (; std::scanf("%llu %u %u %u", &at, &flow, &bytes, &ecn) == 4; to_come++)
        Simulator::Schedule(NanoSeconds(at), &Arrive, Create<Numbered>(to_come, flow, bytes, ecn));
    Simulator::Run();
    Simulator::Destroy();
}
