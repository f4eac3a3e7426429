# The part of a tick that ns-2 draws for the clock of each TCP, which it does not tell.
#
# Each TCP agent draws once when it is made (Vegas twice), and its clock when it is reset: what they will draw is drawn before, and which
# is reset when is noted.

# Seeds ns-2 for a run of so many TCPs at most.
proc foresee_clocks {seed most} {
    global draws tcps made resets
    ns-random $seed
    for {set i 0} {$i < 3 * $most} {incr i} { lappend draws [$::defaultRNG uniform 0 1] }
    ns-random $seed
    set tcps 0
    set made 0
    set resets 0
}

# To be called with each TCP agent as it is made.
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

# Of the TCPs in the order in which they were made.
proc clock_phases {} {
    global tcps phase
    set phases {}
    for {set i 0} {$i < $tcps} {incr i} { lappend phases $phase($i) }
    return $phases
}
