# One run of ns-2.35 over a local network, measured by ns-2's own monitors.
#
#   client 1..N --10 Mb/s, 3 ms-- router --50 Mb/s, 10 ms-- server       ns lan.tcl SEED DURATION QUEUE LIMIT TCP UDP
#
# SEED is the seed of RED. QUEUE (DropTail, RED) is on every link, in both directions; it holds 16 packets at the clients' links and LIMIT at
# the server's. TCP and UDP are the starts of the clients in s: first those of Reno with endless data, then those that send 10 Mb/s in packets
# of 1500 B. Prints one metric per line, its name and value, and `clock_phase` with the phase of each TCP's clock as a fraction of a tick.

foreach {seed duration queue limit tcp udp} $argv {}
set starts [concat $tcp $udp]

source [file join [file dirname [info script]] clock.tcl]
foresee_clocks $seed [llength $tcp]

set ns [new Simulator]
set server [$ns node]
set router [$ns node]

# Counts a link's packets, waiting ones and drops. Several links may share a monitor.
proc watch {monitor from to} {
    [[Simulator instance] link $from $to] attach-monitors [new SnoopQueue/In] [new SnoopQueue/Out] [new SnoopQueue/Drop] $monitor
}

# Returns a monitor of packets from the arrival at a queue to the arrival at an agent, as if the network were one queue.
proc journey {} {
    set monitor [new QueueMonitor]
    $monitor set-delay-samples [new Samples]
    return $monitor
}
proc depart {monitor from to} {
    set snoop [new SnoopQueue/In]
    $snoop set-monitor $monitor
    [[Simulator instance] link $from $to] add-to-head $snoop
}
proc arrive {monitor node agent} {
    set snoop [new SnoopQueue/Out]
    $snoop set-monitor $monitor
    $snoop target $agent
    [$node demux] install [$agent set agent_port_] $snoop
}

$ns duplex-link $router $server 50Mb 10ms $queue
$ns queue-limit $router $server $limit
$ns queue-limit $server $router $limit
foreach name {access bottleneck back} { set $name [new QueueMonitor] }
set waiting [new Integrator]
$bottleneck set-pkts-integrator $waiting
watch $bottleneck $router $server
watch $back $server $router
set acks [journey]
depart $acks $server $router

for {set i 0} {$i < [llength $starts]} {incr i} {
    set client [$ns node]
    $ns duplex-link $client $router 10Mb 3ms $queue
    $ns queue-limit $client $router 16
    $ns queue-limit $router $client 16
    watch $access $client $router
    watch $back $router $client
    if {$i < [llength $tcp]} {
        set agent [new Agent/TCP/Reno]
        $agent set window_ 10000
        $agent set packetSize_ 1460
        note_clock $agent
        set sink [new Agent/TCPSink]
        set source [new Application/FTP]
    } else {
        set agent [new Agent/UDP]
        $agent set packetSize_ 1500
        set sink [new Agent/Null]
        set source [new Application/Traffic/CBR]
        $source set packetSize_ 1500
        $source set rate_ 10Mb
    }
    $ns attach-agent $client $agent
    $ns attach-agent $server $sink
    $ns connect $agent $sink
    $source attach-agent $agent
    $ns at [lindex $starts $i] "$source start"
    set data($i) [journey]
    depart $data($i) $client $router
    arrive $data($i) $server $sink
    if {$i < [llength $tcp]} { arrive $acks $client $agent }
}

# Returns the number of packets that arrived, and the sum of their delays in s.
proc delays {monitor} {
    set samples [$monitor get-delay-samples]
    set count [$samples cnt]
    return [list $count [expr {$count ? $count * [$samples mean] : 0}]]
}

proc finish {} {
    global duration tcp starts data acks access bottleneck back waiting
    set sent 0
    set received 0
    set delay 0.0
    for {set i 0} {$i < [llength $starts]} {incr i} {
        incr sent [expr {int([$data($i) set parrivals_])}]
        foreach {count sum} [delays $data($i)] {}
        incr received $count
        set delay [expr {$delay + $sum}]
        lappend kbps [expr {[$data($i) set bdepartures_] * 8 / 1e3 / $duration}]
    }
    foreach {acks_received acks_delay} [delays $acks] {}
    set drops [expr {[$access set pdrops_] + [$bottleneck set pdrops_]}]
    # The definition of papers that leave out the client's link: 10 + 3 ms, 0.24 ms on the server's link, and the waiting time before it.
    set delay_c [expr {13.24 + 1e3 * [$waiting set sum_] / [$bottleneck set pdepartures_]}]
    set kbps [lsort -real $kbps]
    puts "throughput_kbps [expr ([join $kbps +]) / [llength $kbps]]"
    puts "throughput_min_kbps [lindex $kbps 0]"
    puts "throughput_max_kbps [lindex $kbps end]"
    puts "delay_a_ms [expr {1e3 * $delay / $received}]"
    puts "delay_b_ms [expr {$delay_c + 1.2}]"
    puts "delay_c_ms $delay_c"
    puts "delay_d_ms [expr {1e3 * ($delay + $acks_delay) / ($received + $acks_received)}]"
    puts "loss_pct [expr {100.0 * $drops / $sent}]"
    puts "loss_all_pct [expr {100.0 * ($drops + [$back set pdrops_]) / ($sent + [$acks set parrivals_])}]"
    puts "utilisation_pct [expr {100.0 * [$bottleneck set bdepartures_] * 8 / 50e6 / $duration}]"
    puts [concat clock_phase [clock_phases]]
    exit 0
}
$ns at $duration finish
$ns run
