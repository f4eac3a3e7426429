# The star for ns-2: N clients - 10 Mb/s, 3 ms - gateway - N Mb/s (cbr: 155 Mb/s), 10 ms - server.
# usage: ns star.tcl tcp|cbr N SECONDS [manual]
# `manual` sets the routes by hand: for 5000 clients ns-2's own computation does not end in minutes.
# Prints packet-hops, and the packets that they are derived from.

lassign $argv kind clients seconds routing
set ns [new Simulator]
if {$routing eq "manual"} { $ns rtproto Manual }

# Makes a duplex link with a separate queue length in each direction.
proc connect {one other rate delay there back} {
    global ns routing
    $ns duplex-link $one $other $rate $delay DropTail
    $ns queue-limit $one $other $there
    $ns queue-limit $other $one $back
}
# Destinations without a separate route use the gateway.
proc route {leaf gateway} {
    [$leaf get-module "Manual"] add-route-to-adj-node -default $gateway
    [$gateway get-module "Manual"] add-route-to-adj-node $leaf
}

set gateway [$ns node]
set server [$ns node]
if {$kind eq "tcp"} {
    connect $gateway $server ${clients}Mb 10ms [expr {2 * $clients}] 100000
} else {
    connect $gateway $server 155Mb 10ms 1000 100000
}
if {$routing eq "manual"} { route $server $gateway }

for {set i 0} {$i < $clients} {incr i} {
    set client [$ns node]
    connect $client $gateway 10Mb 3ms 1000 1000
    if {$routing eq "manual"} { route $client $gateway }
    if {$kind eq "tcp"} {
        set agent [new Agent/TCP/Newreno]
        $agent set packetSize_ 1460
        $agent set window_ 64
        set sink [new Agent/TCPSink]
        set source [new Application/FTP]
        set start [expr {0.01 * ($i % 100)}]
    } else {
        set agent [new Agent/UDP]
        $agent set packetSize_ 1500
        set sink [new Agent/LossMonitor]
        set source [new Application/Traffic/CBR]
        $source set packetSize_ 1500
        $source set rate_ 3Mb
        set start [expr {0.000077 * $i}]
    }
    $ns attach-agent $client $agent
    $ns attach-agent $server $sink
    $ns connect $agent $sink
    $source attach-agent $agent
    $ns at $start "$source start"
    lappend agents $agent
    lappend sinks $sink
}

# A TCP packet that is acknowledged has made two hops, and its acknowledgement two more; a dropped packet has made one.
proc finish {} {
    global kind agents sinks
    set sent 0
    set arrived 0
    foreach agent $agents sink $sinks {
        if {$kind eq "tcp"} {
            incr sent [$agent set ndatapack_]
            incr arrived [$agent set nackpack_]
        } else {
            incr arrived [$sink set npkts_]
        }
    }
    puts "hops [expr {$kind eq "tcp" ? $sent + 3 * $arrived : 2 * $arrived}] sent $sent arrived $arrived version [ns-version]"
    exit 0
}
$ns at $seconds finish
$ns run
