// What a queue discipline of ns-3 makes of a list of arrivals, a line each: instant in ns, flow, bytes. Prints what crates/link/examples/departures.rs prints.
//
// usage: queues TYPE RATE [ATTRIBUTE=VALUE]... < ARRIVALS        (TYPE as ns3::CoDelQueueDisc, RATE in bit/s)

#include "ns3/core-module.h"
#include "ns3/fq-codel-queue-disc.h"
#include "ns3/network-module.h"
#include "ns3/queue-disc.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

using namespace ns3;

// A packet of nothing but a number, a flow and a size.
class Numbered : public QueueDiscItem
{
  public:
    Numbered(uint32_t number, uint32_t flow, uint32_t bytes)
        : QueueDiscItem(Create<Packet>(bytes), Address(), 0), m_number(number), m_flow(flow)
    {
    }
    void AddHeader() override {}
    bool Mark() override { return false; }
    uint32_t Hash(uint32_t) const override { return m_flow; }
    uint32_t m_number, m_flow;
};

static Ptr<QueueDisc> queue;
static uint64_t rate;
static bool busy = false;

static void Told(char what, Ptr<const QueueDiscItem> item)
{
    std::printf("%lld %c %u\n", static_cast<long long>(Simulator::Now().GetNanoSeconds()), what,
                DynamicCast<const Numbered>(item)->m_number);
}

static void Dropped(Ptr<const QueueDiscItem> item, const char*) { Told('d', item); }

static void Transmit()
{
    Ptr<QueueDiscItem> item = queue->Dequeue();
    busy = item != nullptr;
    if (!busy) return;
    Told('-', item);
    Simulator::Schedule(NanoSeconds(item->GetSize() * 8000000000ULL / rate), &Transmit);
}

static void Arrive(Ptr<Numbered> item)
{
    queue->Enqueue(item);
    if (!busy) Transmit();
}

int main(int argc, char** argv)
{
    if (argc < 3) return 2;
    ObjectFactory factory(argv[1]);
    rate = std::strtoull(argv[2], nullptr, 10);
    uint32_t quantum = 0;
    for (int i = 3; i < argc; i++)
    {
        std::string word = argv[i];
        size_t equals = word.find('=');
        std::string key = word.substr(0, equals), value = word.substr(equals + 1);
        // No attribute.
        if (key == "Quantum") quantum = std::stoul(value);
        else factory.Set(key, StringValue(value));
    }
    queue = factory.Create<QueueDisc>();
    if (quantum) DynamicCast<FqCoDelQueueDisc>(queue)->SetQuantum(quantum);
    queue->Initialize();
    queue->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Dropped));
    queue->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&Dropped));
    unsigned long long at;
    unsigned flow, bytes;
    for (uint32_t number = 0; std::scanf("%llu %u %u", &at, &flow, &bytes) == 3; number++)
        Simulator::Schedule(NanoSeconds(at), &Arrive, Create<Numbered>(number, flow, bytes));
    Simulator::Run();
    Simulator::Destroy();
}
