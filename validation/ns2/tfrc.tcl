# One TFRC flow S - R - D in ns-2.35: prints the sent, received and waiting packets.
#
#   ns tfrc.tcl SEED SECONDS WARM MODE RTT_MS RATE_MBPS LIMIT LOSS BIN
#
# MODE rfc: a packet's size is that on the wire, and t_RTO is four times the base round trip (RFC 5348 section 3.1); default: ns-2's
# defaults. LOSS: none; bernoulli P [SECONDS P].. ; periodic K [PACKET K].. (counted from 0 at the loss model, before S's link);
# reports FROM TO: every 100th packet is lost, and all reports between these two times.
lassign $argv seed seconds warm mode rtt_ms rate_mbps limit loss bin
global defaultRNG
$defaultRNG seed [expr {7919 * $seed + 17}]
set ns [new Simulator]
foreach name {S R D} { set $name [$ns node] }
$ns duplex-link $S $R 1000Mb 0.01ms DropTail
$ns duplex-link $R $D ${rate_mbps}Mb [expr {$rtt_ms / 2.0 - 0.01}]ms DropTail
$ns queue-limit $S $R 100000
$ns queue-limit $R $D $limit
$ns queue-limit $D $R 100000
set queue [$ns monitor-queue $R $D [open /dev/null w]]
set source [new Agent/TFRC]
set sink [new Agent/TFRCSink]
$source set packetSize_ 1000
if {$mode eq "rfc"} {
    $source set useHeaders_ false
    $source set tcp_tick_ 0.001
    $source set minrto_ [expr {4.0 * $rtt_ms / 1000}]
}
$ns attach-agent $S $source
$ns attach-agent $D $sink
$ns connect $source $sink

proc bernoulli {stream} {
    set model [new ErrorModel]
    $model unit pkt
    $model set rate_ 0
    set random [new RNG]
    $random seed $stream
    set uniform [new RandomVariable/Uniform]
    $uniform use-rng $random
    $model ranvar $uniform
    $model drop-target [new Agent/Null]
    return $model
}
proc periodic {plan} {
    set drops {}
    lassign $plan every
    set from 0
    foreach {to next} [concat [lrange $plan 1 end] [list 2000000 0]] {
        if {$every > 0} { for {set n [expr {$from + $every}]} {$n < $to} {incr n $every} { lappend drops $n } }
        set from $to
        set every $next
    }
    set model [new ErrorModel/List]
    $model unit pkt
    $model droplist $drops
    $model drop-target [new Agent/Null]
    return $model
}
set plan [lassign $loss kind]
switch $kind {
    bernoulli {
        set model [bernoulli [expr {31 + 7 * $seed}]]
        $model set rate_ [lindex $plan 0]
        foreach {at p} [lrange $plan 1 end] { $ns at $at "$model set rate_ $p" }
        $ns lossmodel $model $S $R
    }
    periodic { $ns lossmodel [periodic $plan] $S $R }
    reports {
        $ns lossmodel [periodic 100] $S $R
        set back [bernoulli 99]
        $ns lossmodel $back $D $R
        $ns at [lindex $plan 0] "$back set rate_ 1.1"
        $ns at [lindex $plan 1] "$back set rate_ 0"
    }
}
set sent 0
set bins {}
proc sample {} {
    global ns source bin sent bins
    set now [$source set ndatapack_]
    lappend bins [expr {$now - $sent}]
    set sent $now
    $ns at [expr {[$ns now] + $bin}] sample
}
proc begin {} {
    global source sink queue before
    $queue instvar size_ pkts_
    set integral [$queue get-pkts-integrator]
    set before [list [$source set ndatapack_] [$sink set bytes_] [$queue set pdrops_] [$queue set parrivals_] [$integral set sum_]]
}
proc finish {} {
    global ns source sink queue before seconds warm bins
    set integral [$queue get-pkts-integrator]
    $integral newpoint $seconds [$integral set lasty_]
    lassign $before packets bytes drops arrivals sum
    set length [expr {$seconds - $warm}]
    puts "sent_packets [expr {[$source set ndatapack_] - $packets}]"
    puts "received_kbps [expr {([$sink set bytes_] - $bytes) * 0.008 / $length}]"
    puts "queue_packets [expr {([$integral set sum_] - $sum) / $length}]"
    puts "drops [expr {[$queue set pdrops_] - $drops}]"
    puts "bins $bins"
    exit 0
}
$ns at 0 "$source start"
if {$bin > 0} { $ns at $bin sample }
$ns at $warm begin
$ns at $seconds finish
$ns run
