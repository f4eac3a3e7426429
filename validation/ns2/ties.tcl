# One run of ns-2.35 over any network of DropTail links, with a trace. Nodes, links and flows are made in the order in which they are listed.
#
#   ns ties.tcl TRACE PHASES DURATION NODES LINKS FLOWS
#
# NODES: their number; they are called 0, 1, ... LINKS: {one other kbps ms packets}, in both directions. FLOWS: {agent from to start ...}, then for
# Agent/UDP {size bps}, for TCP {window payload}. PHASES is a file for the phases that ns-2 drew for the clocks, as fractions of a tick, one line
# per TCP flow.

foreach {trace phases duration nodes links flows} $argv {}

source [file join [file dirname [info script]] clock.tcl]
foresee_clocks 1 [llength $flows]

set ns [new Simulator]
set file [open $trace w]
$ns trace-all $file
for {set i 0} {$i < $nodes} {incr i} { set n($i) [$ns node] }
foreach link $links {
    foreach {one other kbps ms packets} $link {}
    $ns duplex-link $n($one) $n($other) ${kbps}kb ${ms}ms DropTail
    $ns queue-limit $n($one) $n($other) $packets
    $ns queue-limit $n($other) $n($one) $packets
}

set fid 0
foreach flow $flows {
    foreach {kind from to start one other} $flow {}
    set agent [new $kind]
    if {$kind eq "Agent/UDP"} {
        $agent set packetSize_ $one
        set sink [new Agent/Null]
        set source [new Application/Traffic/CBR]
        $source set packetSize_ $one
        $source set rate_ $other
    } else {
        $agent set window_ $one
        $agent set packetSize_ $other
        note_clock $agent
        set sink [new [expr {$kind eq "Agent/TCP/Sack1" ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]]
        set source [new Application/FTP]
    }
    $agent set fid_ [incr fid]
    $ns attach-agent $n($from) $agent
    $ns attach-agent $n($to) $sink
    $ns connect $agent $sink
    $source attach-agent $agent
    $ns at $start "$source start"
}

proc finish {} {
    global ns file phases
    $ns flush-trace
    close $file
    set out [open $phases w]
    foreach phase [clock_phases] { puts $out $phase }
    close $out
    exit 0
}
$ns at $duration finish
$ns run
