# A flow over wired links and a last, wireless link with random loss, next to constant rates, in ns-2.35: prints the bytes that its receiver got.
#
#   ns wireless.tcl SEED DURATION WARM LINKS LOSS CBRS DITHER FLOW
#
# LINKS: {from to Mb/s ms packets}, in both directions. The last one is the wireless link. Packets towards its second end are lost after their
# transmission with probability LOSS, or, if LOSS is a list, the packets with these numbers, counted from 0. CBRS: {from to Mb/s start}, packets of
# 1000 B; with DITHER 1 each gap is half to one and a half of the nominal gap. FLOW: {agent start settings..}, the class of an agent, from the first
# end of the first link to the second end of the wireless link; Agent/TCP/Linux is Westwood. Packets are 1000 B with headers.

source [file join [file dirname [info script]] clock.tcl]
lassign $argv seed duration warm links loss cbrs dither flow
foresee_clocks $seed 1

set ns [new Simulator]
proc node {name} {
    global ns nodes
    if {![info exists nodes($name)]} { set nodes($name) [$ns node] }
    return $nodes($name)
}
foreach link $links {
    lassign $link from to mbps ms packets
    $ns duplex-link [node $from] [node $to] ${mbps}Mb ${ms}ms DropTail
    $ns queue-limit [node $from] [node $to] $packets
    $ns queue-limit [node $to] [node $from] $packets
}
if {[llength $loss] > 1} {
    set wireless [new ErrorModel/List]
    $wireless droplist $loss
} else {
    set random [new RNG]
    $random seed [expr {31 + 7919 * $seed}]
    set uniform [new RandomVariable/Uniform]
    $uniform use-rng $random
    set wireless [new ErrorModel]
    $wireless set rate_ $loss
    $wireless ranvar $uniform
}
$wireless unit pkt
$ns link-lossmodel $wireless [node $from] [node $to]

foreach one $cbrs {
    lassign $one at leave mbps start
    set source [new Agent/UDP]
    set sink [new Agent/Null]
    $source set packetSize_ 1000
    $ns attach-agent [node $at] $source
    $ns attach-agent [node $leave] $sink
    $ns connect $source $sink
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ 1000
    $cbr set rate_ ${mbps}Mb
    $cbr set random_ $dither
    $cbr attach-agent $source
    $ns at $start "$cbr start"
}

set settings [lassign $flow class start]
set source [new $class]
if {$class eq "Agent/TFRC"} {
    set receiver [new Agent/TFRCSink]
    $source set packetSize_ 1000
    $source set useHeaders_ false
    set begins $source
} else {
    set receiver [new [expr {$class in {Agent/TCP/Sack1 Agent/TCP/Linux} ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]]
    $source set packetSize_ 960
    $source set window_ 1000
    note_clock $source
    if {$class eq "Agent/TCP/Linux"} {
        $receiver set ts_echo_rfc1323_ true
        $ns at 0 "$source select_ca westwood"
    }
    set begins [new Application/FTP]
    $begins attach-agent $source
}
foreach {name value} $settings { $source set $name $value }
$ns attach-agent [node [lindex $links 0 0]] $source
$ns attach-agent [node $to] $receiver
$ns connect $source $receiver
$ns at $start "$begins start"

$ns at $warm {set before [$receiver set bytes_]}
$ns at $duration {
    puts "bytes [expr {[$receiver set bytes_] - $before}]"
    puts [concat clock_phase [clock_phases]]
    exit 0
}
$ns run
