# Finds the phase that ns-2 draws for the clock of each TCP, as a fraction of a tick. ns-2 does not print it.
#
# Each TCP agent draws one random number when it is made (Vegas two), and its clock draws one when it is reset. So this file draws the same
# numbers in advance, and records the order of the resets.

# Seeds ns-2 for a run of at most this many TCPs.
proc foresee_clocks {seed most} {
    global draws tcps made resets
    ns-random $seed
    for {set i 0} {$i < 3 * $most} {incr i} { lappend draws [$::defaultRNG uniform 0 1] }
    ns-random $seed
    set tcps 0
    set made 0
    set resets 0
}

# Must be called with each TCP agent when it is made.
proc note_clock {agent} {
    global tcps made
    $agent set number $tcps
    incr tcps
    incr made [expr {[$agent info class] eq "Agent/TCP/Vegas" ? 2 : 1}]
    $agent proc reset {} {
        global resets made draws phase
        $self instvar number
        set phase($number) [lindex $draws [expr {$made + $resets}]]
        incr resets
        $self cmd reset
    }
}

# Returns the phases of the TCPs in the order in which they were made.
proc clock_phases {} {
    global tcps phase
    set phases {}
    for {set i 0} {$i < $tcps} {incr i} { lappend phases $phase($i) }
    return $phases
}
