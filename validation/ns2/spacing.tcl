# One run of ns-2.35: media with gaps between their packets next to TCPs, all to one sink.
#
#   medium 1.. --.                                         ns spacing.tcl SEED DURATION WARM DELAY LIMIT MEDIA TCP TRACE
#                 100 Mb/s, 2 ms -- middle -- 155 Mb/s, DELAY ms, DropTail LIMIT -- sink
#   TCP 1.. -----'
#
# MEDIA: one list per medium: its start in s, the bytes of a packet, and
#   fixed RATE               a constant rate in bit/s
#   spacing RTT DAMPING DECREASE AMOUNT     the protocol of packet spacing: a base round trip in s; damping none, newest or in-force;
#                            decrease by rate (packets a round trip), step (s) or factor
#   tfrc                     Agent/TFRC
# TCP: a class, window, bytes of a packet, and a start in s for each. WARM: start of the measurement. TRACE: a file, or "".
#
# The sender of packet spacing is CBR, whose rate the protocol sets. CBR reads the rate when it sends a packet, for the gap to the next one. The
# receiver is LossMonitor, which counts packets and records the highest number (the first is 1). Reports of 40 B carry both. The decision in force
# is the one with which the middle packet of a report was sent. Prints one figure per line with a number per flow, and the phases of the TCPs'
# clocks.

lassign $argv seed duration warm delay limit media tcps trace
set line_rate 100e6
# The gap that follows gap 0.
set first_spacing 50e-6
set tcp_starts [lassign $tcps tcp_class window tcp_bytes]

source [file join [file dirname [info script]] clock.tcl]
foresee_clocks $seed [llength $tcp_starts]

set ns [new Simulator]
if {$trace ne ""} { $ns trace-all [set file [open $trace w]] }
set middle [$ns node]
set sink [$ns node]
$ns duplex-link $middle $sink 155Mb ${delay}ms DropTail
$ns queue-limit $middle $sink $limit
$ns queue-limit $sink $middle 10000
set flows [$ns makeflowmon Fid]
$ns attach-fmon [$ns link $middle $sink] $flows

proc sender {} {
    global ns middle
    set node [$ns node]
    $ns duplex-link $node $middle 100Mb 2ms DropTail
    $ns queue-limit $node $middle 100000
    $ns queue-limit $middle $node 10000
    return $node
}
proc join_ends {node source receiver fid} {
    global ns sink
    $source set fid_ $fid
    $ns attach-agent $node $source
    $ns attach-agent $sink $receiver
    $ns connect $source $receiver
}

# Packet spacing.
Class Agent/UDP/Reported -superclass Agent/UDP
Agent/UDP/Reported instproc process_data {size data} { on_report [$self set medium] {*}$data }
Class Agent/LossMonitor/Spaced -superclass Agent/LossMonitor
Agent/LossMonitor/Spaced instproc log-loss {} {
    global ns spacing
    set i [$self set medium]
    if {!$spacing($i,begun)} {
        set spacing($i,begun) 1
        $ns at -$spacing($i,rtt) "report $i"
    }
}
Agent/LossMonitor instproc log-loss {} { return }

# State of medium i: spacing($i,what). decisions: {first number, spacing before, decision}, newest first.
proc begin_spacing {i node source monitor bytes rtt damping decrease amount} {
    global ns sink line_rate spacing
    array set spacing [list $i,ps 0.0 $i,tx [expr {8.0 * $bytes / $line_rate}] $i,bits [expr {8 * $bytes}] $i,rtt $rtt $i,damping $damping \
        $i,decrease $decrease $i,amount $amount $i,highest -1 $i,count 0 $i,reported 0 $i,begun 0 $i,reaction 0 $i,decisions {} $i,monitor $monitor]
    set spacing($i,sent) [new QueueMonitor]
    set snoop [new SnoopQueue/In]
    $snoop set-monitor $spacing($i,sent)
    [$ns link $node $::middle] add-to-head $snoop
    set spacing($i,answers) [new Agent/UDP]
    $spacing($i,answers) set fid_ [$source set fid_]
    $ns attach-agent $sink $spacing($i,answers)
    # An agent with an application is not notified of packets.
    set reported [new Agent/UDP/Reported]
    $reported set medium $i
    $ns attach-agent $node $reported
    $ns connect $spacing($i,answers) $reported
    $monitor set medium $i
    # Number 0 is sent to the sender's node, so that the monitor reports a loss when its first packet arrives.
    set null [new Agent/Null]
    $ns attach-agent $node $null
    $ns connect $source $null
    $ns at 0 "$source send $bytes; $ns connect $source $monitor"
    $monitor set expected_ 0
}
proc report {i} {
    global ns spacing
    set monitor $spacing($i,monitor)
    set count [$monitor set npkts_]
    if {$count == $spacing($i,reported)} {
        # A round without packets: the next round starts with a packet that must again seem to follow a loss.
        set spacing($i,begun) 0
        $monitor set expected_ [expr {[$monitor set expected_] - 1}]
        return
    }
    set spacing($i,reported) $count
    $spacing($i,answers) send 40 "[expr {[$monitor set expected_] - 2}] $count"
    $ns at -$spacing($i,rtt) "report $i"
}
proc on_report {i highest count} {
    global spacing cbr
    if {$highest <= $spacing($i,highest)} { return }
    set first [expr {$spacing($i,highest) + 1}]
    set middle [expr {$first + ($highest + 1 - $first) / 2}]
    set lost [expr {$highest - $spacing($i,highest) > $count - $spacing($i,count)}]
    set spacing($i,highest) $highest
    set spacing($i,count) $count
    set ps $spacing($i,ps)
    switch $spacing($i,damping) {
        none { set blamed {} }
        newest { set blamed [lindex $spacing($i,decisions) 0] }
        in-force {
            if {$middle < $spacing($i,reaction)} { return }
            set blamed [in_force $i $middle]
        }
    }
    if {!$lost} {
        set spacing($i,ps) [shorter $i $ps]
        set what [expr {$spacing($i,ps) < $ps ? "shorter" : "none"}]
    } elseif {[lindex $blamed 2] eq "shorter"} {
        set spacing($i,ps) [lindex $blamed 1]
        set what back
    } else {
        set spacing($i,ps) [expr {$ps == 0 ? $::first_spacing : min(2 * $ps, $spacing($i,rtt))}]
        set what longer
    }
    set number [expr {int([$spacing($i,sent) set parrivals_])}]
    if {$what in {longer back}} { set spacing($i,reaction) $number }
    set spacing($i,decisions) [lrange [linsert $spacing($i,decisions) 0 [list $number $ps $what]] 0 63]
    $cbr($i) set rate_ [expr {$spacing($i,bits) / ($spacing($i,tx) + $spacing($i,ps))}]
}
proc shorter {i ps} {
    global spacing
    set amount $spacing($i,amount)
    switch $spacing($i,decrease) {
        rate { return [expr {max(0.0, $spacing($i,rtt) / ($spacing($i,rtt) / ($spacing($i,tx) + $ps) + $amount) - $spacing($i,tx))}] }
        step { return [expr {max(0.0, $ps - $amount)}] }
        factor { return [expr {$ps * $amount}] }
    }
}
# Returns the newest decision that was made before a packet was sent.
proc in_force {i number} {
    foreach decision $::spacing($i,decisions) {
        if {[lindex $decision 0] <= $number} { return $decision }
    }
    return {}
}

set i 0
foreach medium $media {
    set rules [lassign $medium start bytes kind]
    set node [sender]
    if {$kind eq "tfrc"} {
        set source [new Agent/TFRC]
        set receiver($i) [new Agent/TFRCSink]
        $source set packetSize_ $bytes
        $source set useHeaders_ false
        $ns at $start "$source start"
    } else {
        set source [new Agent/UDP]
        set receiver($i) [new [expr {$kind eq "spacing" ? "Agent/LossMonitor/Spaced" : "Agent/LossMonitor"}]]
        $source set packetSize_ $bytes
        set cbr($i) [new Application/Traffic/CBR]
        $cbr($i) set packetSize_ $bytes
        $cbr($i) set rate_ [expr {$kind eq "fixed" ? [lindex $rules 0] : $line_rate}]
        $cbr($i) attach-agent $source
        $ns at $start "$cbr($i) start"
    }
    join_ends $node $source $receiver($i) [expr {$i + 1}]
    if {$kind eq "spacing"} {
        begin_spacing $i $node $source $receiver($i) $bytes {*}$rules
    }
    incr i
}
foreach start $tcp_starts {
    set source [new $tcp_class]
    $source set window_ $window
    $source set packetSize_ [expr {$tcp_bytes - 40}]
    note_clock $source
    set receiver($i) [new [expr {$tcp_class eq "Agent/TCP/Sack1" ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]]
    join_ends [sender] $source $receiver($i) [expr {$i + 1}]
    set ftp [new Application/FTP]
    $ftp attach-agent $source
    $ns at $start "$ftp start"
    incr i
}

# Received bytes modulo 2^32, as ns-2 counts them; packets that arrived at the trunk and that were dropped, and bytes sent to it.
proc figures {} {
    global receiver flows
    array set found {}
    foreach flow [$flows flows] { set found([expr {[$flow set flowid_] - 1}]) [list [$flow set parrivals_] [$flow set pdrops_] [$flow set bdepartures_]] }
    set all {}
    for {set i 0} {$i < [array size receiver]} {incr i} {
        lappend all [list [$receiver($i) set bytes_] {*}[expr {[info exists found($i)] ? $found($i) : {0 0 0}}]]
    }
    return $all
}
proc sample {} {
    global ns receiver media bins
    for {set i 0} {$i < [llength $media]} {incr i} { lappend bins($i) [$receiver($i) set bytes_] }
    $ns at -0.5 sample
}
# Returns the coefficient of variation over bins of 0.5 s.
proc cov {totals} {
    set sum 0.0
    set squares 0.0
    set count [expr {[llength $totals] - 1}]
    foreach a [lrange $totals 0 end-1] b [lrange $totals 1 end] {
        set bin [expr {(int($b) - int($a)) % (1 << 32)}]
        set sum [expr {$sum + $bin}]
        set squares [expr {$squares + double($bin) * $bin}]
    }
    set mean [expr {$sum / $count}]
    return [expr {$mean > 0 ? sqrt(max(0.0, $squares / $count - $mean * $mean)) / $mean : 0}]
}
proc begin {} {
    set ::before [figures]
    sample
}
proc finish {} {
    global before receiver bins media trace file
    for {set i 0} {$i < [llength $media]} {incr i} { lappend bins($i) [$receiver($i) set bytes_] }
    foreach was $before is [figures] {
        foreach name {bytes arrived dropped left} a $was b $is { lappend $name [expr {(int($b) - int($a)) % (1 << 32)}] }
    }
    foreach name {bytes arrived dropped left} { puts "$name [set $name]" }
    for {set i 0} {$i < [llength $media]} {incr i} { puts "cov_$i [cov $bins($i)]" }
    puts [concat clock_phase [clock_phases]]
    if {$trace ne ""} { close $file }
    exit 0
}
$ns at $warm begin
$ns at $duration finish
$ns run
