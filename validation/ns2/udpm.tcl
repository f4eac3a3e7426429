# One run of ns-2.35: UDPm next to one NewReno flow in a dumbbell.
#
#   s1 --.                      .-- s3        ns udpm.tcl SEED DURATION ACCESS BOTTLENECK QUEUE WINDOW MEDIA TRACE
#         r1 -- bottleneck -- r2
#   s2 --'                      '-- s4        media from s1 to s3 from 1 s on, a file from s2 to s4 from 0 s on
#
# ACCESS, BOTTLENECK: rate and delay. QUEUE: DropTail or RED, its limit, and pairs of options of RED, for both directions.
# WINDOW: window of NewReno in packets of 1000 B. TRACE: a file, or "". MEDIA is {udpm SIZE DECIDE RTT LADDER...} or {cbr SIZE RATE}: DECIDE is
# interval, round-trip or packet; RTT the length of an interval in s, or one-way or least-one-way; LADDER rates in bit/s.
#
# UDPm is ns-2's Agent/UDP with its rules in OTcl. A packet carries its number and its sending time; its receiver answers with 40 B that carry a
# scale. A wait is scheduled with `at -WAIT`, which ns-2 adds to its clock as a TimerHandler does. Prints one metric per line, and the phase of
# TCP's clock.

foreach {seed duration access bottleneck queue window media trace} $argv {}

source [file join [file dirname [info script]] clock.tcl]
foresee_clocks $seed 1

set ns [new Simulator]
if {$trace ne ""} { $ns trace-all [set file [open $trace w]] }
foreach name {s1 s2 r1 r2 s3 s4} { set $name [$ns node] }
foreach {key value} [lrange $queue 2 end] { Queue/RED set $key $value }
foreach {one other} {s1 r1 s2 r1 s3 r2 s4 r2} {
    $ns duplex-link [set $one] [set $other] [lindex $access 0] [lindex $access 1] DropTail
}
$ns duplex-link $r1 $r2 [lindex $bottleneck 0] [lindex $bottleneck 1] [lindex $queue 0]
$ns queue-limit $r1 $r2 [lindex $queue 1]

set flows [$ns makeflowmon Fid]
$ns attach-fmon [$ns link $r1 $r2] $flows [expr {[lindex $queue 0] eq "RED"}]
set waiting [new Integrator]
$flows set-pkts-integrator $waiting

Class Agent/UDP/Media -superclass Agent/UDP
Agent/UDP/Media instproc process_data {size data} { [$self set heard] {*}$data }

set scale 0
set number 0
proc send_media {} {
    global ns source size scale number ladder
    $source send $size "$number [$ns now]"
    incr number
    $ns at [expr {-$size * 8.0 / [lindex $ladder $scale]}] send_media
}
proc hear_scale {announced} { set ::scale $announced }

# The scale that the receiver will announce, the highest number so far, and the counts of the round.
array set round {scale 0 last -1 received 0 lost 0 rtt -1 begun 0}
proc hear_media {number sent} {
    global ns round decide rtt
    set twice [expr {2 * ([$ns now] - $sent)}]
    if {$round(rtt) < 0} {
        set round(rtt) $twice
    } elseif {$rtt eq "one-way"} {
        set round(rtt) [expr {0.9 * $round(rtt) + 0.1 * $twice}]
    } elseif {$twice < $round(rtt)} {
        set round(rtt) $twice
    }
    incr round(received)
    incr round(lost) [expr {$number - $round(last) - 1}]
    set round(last) $number
    if {$decide eq "packet" || !$round(begun)} end_round
}
proc end_round {} {
    global ns round decide rtt ladder sink
    set round(begun) 1
    if {$round(lost) > 0} {
        set round(scale) [expr {$round(scale) / 2}]
    } elseif {$round(received) > 0 && $round(scale) < [llength $ladder] - 1} {
        incr round(scale)
    }
    array set round {received 0 lost 0}
    $sink send 40 $round(scale)
    switch $decide {
        interval { $ns at -$rtt end_round }
        round-trip { $ns at -$round(rtt) end_round }
    }
}

set size [lindex $media 1]
if {[lindex $media 0] eq "udpm"} {
    foreach {decide rtt} [lrange $media 2 3] {}
    set ladder [lrange $media 4 end]
    foreach {agent heard} {source hear_scale sink hear_media} {
        set $agent [new Agent/UDP/Media]
        [set $agent] set heard $heard
        [set $agent] set packetSize_ $size
    }
    $ns at 1.0 send_media
} else {
    set source [new Agent/UDP]
    set sink [new Agent/Null]
    $source set packetSize_ $size
    set cbr [new Application/Traffic/CBR]
    $cbr attach-agent $source
    $cbr set packetSize_ $size
    $cbr set rate_ [lindex $media 2]
    $ns at 1.0 "$cbr start"
}
$source set fid_ 1
$ns attach-agent $s1 $source
$ns attach-agent $s3 $sink
$ns connect $source $sink

set tcp [new Agent/TCP/Newreno]
$tcp set window_ $window
$tcp set fid_ 2
note_clock $tcp
set tcp_sink [new Agent/TCPSink]
$ns attach-agent $s2 $tcp
$ns attach-agent $s4 $tcp_sink
$ns connect $tcp $tcp_sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0 "$ftp start"

proc of {fid what} {
    global flows
    set flow [[$flows classifier] lookup auto 0 0 $fid]
    return [expr {$flow eq "" ? 0 : [$flow set $what]}]
}
proc begin {} {
    global waiting before
    $waiting newpoint [[Simulator instance] now] [$waiting set lasty_]
    set before [$waiting set sum_]
}
proc finish {} {
    global duration waiting before trace file
    $waiting newpoint $duration [$waiting set lasty_]
    foreach {name what} {arrived parrivals_ dropped pdrops_} {
        foreach fid {1 2} { puts "${name}_$fid [expr {int([of $fid $what])}]" }
    }
    puts "waiting_packets [expr {([$waiting set sum_] - $before) / ($duration - 1)}]"
    puts "media_kbps [expr {[of 1 bdepartures_] * 8 / 1e3 / ($duration - 1)}]"
    puts "tcp_kbps [expr {[of 2 bdepartures_] * 8 / 1e3 / $duration}]"
    puts [concat clock_phase [clock_phases]]
    if {$trace ne ""} { close $file }
    exit 0
}
$ns at 1.0 begin
$ns at $duration finish
$ns run
