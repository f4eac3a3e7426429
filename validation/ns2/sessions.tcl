# One run of ns-2.35 with a trace: short transfers over the nodes 0, 1 and 2.
#
#   ns sessions.tcl TRACE DONE DURATION LINKS AGENT WINDOW PAYLOAD SESSIONS
#
# LINKS: {kbps ms packets} of 0-1 and of 1-2, in both directions. SESSIONS: {at bytes}, one agent each, all with flow id 1. DONE is a file for the
# phase that ns-2 drew for their clocks, as a fraction of a tick and the same for all, and then a line per complete session: its start, and the
# time of its last acknowledgement.

foreach {trace done duration links kind window payload sessions} $argv {}

set ns [new Simulator]
set file [open $trace w]
set out [open $done w]
$ns trace-all $file
foreach i {0 1 2} { set n($i) [$ns node] }
foreach link $links from {0 1} to {1 2} {
    foreach {kbps ms packets} $link {}
    $ns duplex-link $n($from) $n($to) ${kbps}kb ${ms}ms DropTail
    $ns queue-limit $n($from) $n($to) $packets
    $ns queue-limit $n($to) $n($from) $packets
}

ns-random 1
puts $out [$::defaultRNG uniform 0 1]

foreach session $sessions {
    foreach {at bytes} $session {}
    set agent [new $kind]
    $agent set window_ $window
    $agent set packetSize_ $payload
    $agent set fid_ 1
    $agent set arrived $at
    # The clock draws its phase when it is reset.
    $agent proc reset {} {
        ns-random 1
        $self cmd reset
    }
    $agent proc done {} {
        global ns out
        $self instvar arrived
        puts $out "$arrived [format %.9f [$ns now]]"
    }
    set sink [new [expr {$kind eq "Agent/TCP/Sack1" ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]]
    $ns attach-agent $n(0) $agent
    $ns attach-agent $n(2) $sink
    $ns connect $agent $sink
    set source [new Application]
    $source attach-agent $agent
    $ns at $at "$source send $bytes"
}

proc finish {} {
    global ns file out
    $ns flush-trace
    close $file
    close $out
    exit 0
}
$ns at $duration finish
$ns run
