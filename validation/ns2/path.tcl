# One run of ns-2.35, traced.
#
#   n0 --0--.                         ns path.tcl TRACE PHASES DURATION RATES DELAYS LIMITS LOST RED WINDOW FLOW...
#           n1 --1-- n2 --2-- n3      RATES, DELAYS, LIMITS, LOST: four each, for the links 0 to 3; LOST: lists of packets
#   n4 --3--'                         RED: empty, or options of the queue from n1 to n2; WINDOW: empty, or a file for cwnd_ and ssthresh_
#
# A FLOW has agent, sink, from, start, stop ("" for never) and set (settings of the agent); for TCP also segments (0 for endless), delay
# (interval_ of the sink, or "") and ca (the congestion control of Agent/TCP/Linux); for CBR also size, rate and changes (times and rates).
# All flows end at n3; their flow ids are 1, 2 and so on. RAP needs no source.
# PHASES is a file for the phases that ns-2 drew for the clocks, as fractions of a tick, one line per TCP flow.

foreach {trace phases duration rates delays limits lost red window} [lrange $argv 0 8] {}
set flows [lrange $argv 9 end]

source [file join [file dirname [info script]] clock.tcl]
foresee_clocks 1 [llength $flows]

set ns [new Simulator]
set file [open $trace w]
$ns trace-all $file
foreach i {0 1 2 3 4} { set n($i) [$ns node] }

foreach {key value} $red { Queue/RED set $key $value }
foreach link {0 1 2 3} from {0 1 2 4} to {1 2 3 1} {
    set rate [lindex $rates $link]
    set delay [lindex $delays $link]
    $ns simplex-link $n($from) $n($to) $rate $delay [expr {$link == 1 && $red ne "" ? "RED" : "DropTail"}]
    $ns simplex-link $n($to) $n($from) $rate $delay DropTail
    $ns queue-limit $n($from) $n($to) [lindex $limits $link]
    $ns queue-limit $n($to) $n($from) 10000
    if {[llength [lindex $lost $link]]} {
        set model [new ErrorModel/List]
        $model droplist [lindex $lost $link]
        $model unit pkt
        $ns lossmodel $model $n($from) $n($to)
    }
}

set fid 0
foreach flow $flows {
    array set f {segments 0 delay "" size 0 rate 0 changes "" ca ""}
    array set f $flow
    set agent [new $f(agent)]
    set sink [new $f(sink)]
    foreach {key value} $f(set) { $agent set $key $value }
    $agent set fid_ [incr fid]
    $ns attach-agent $n($f(from)) $agent
    $ns attach-agent $n(3) $sink
    $ns connect $agent $sink
    if {$f(agent) eq "Agent/RAP"} {
        $ns at 0.0 "$sink listen"
        $ns at $f(start) "$agent start"
        if {$f(stop) ne ""} { $ns at $f(stop) "$agent stop" }
        continue
    }
    if {$f(ca) ne ""} {
        $agent select_ca $f(ca)
        $sink set ts_echo_rfc1323_ true
    }
    if {$f(agent) eq "Agent/UDP"} {
        set source [new Application/Traffic/CBR]
        $source set packetSize_ $f(size)
        $source set rate_ $f(rate)
        foreach {at rate} $f(changes) { $ns at $at "$source set rate_ $rate" }
    } else {
        if {$f(delay) ne ""} { $sink set interval_ $f(delay) }
        set source [new Application/FTP]
        note_clock $agent
        if {$window ne ""} {
            $agent attach [set windows [open $window w]]
            $agent tracevar cwnd_
            $agent tracevar ssthresh_
        }
    }
    $source attach-agent $agent
    if {$f(segments)} {
        $ns at $f(start) "$agent advance $f(segments)"
    } else {
        $ns at $f(start) "$source start"
    }
    if {$f(stop) ne ""} {
        if {$f(agent) eq "Agent/UDP"} {
            $ns at $f(stop) "$source stop"
        } else {
            # Does not use the stop of Application/FTP, which withdraws the last sent segment, so that it is never repeated.
            $ns at $f(stop) "$agent advance \[expr {\[$agent set maxseq_\] + 1}\]"
        }
    }
}

proc finish {} {
    global ns file phases
    $ns flush-trace
    close $file
    if {$::window ne ""} { close $::windows }
    set out [open $phases w]
    foreach phase [clock_phases] { puts $out $phase }
    close $out
    exit 0
}
$ns at $duration finish
$ns run
