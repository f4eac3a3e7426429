/** Distance of the time axis from the sides, in px. All charts use it, so that a time has the same position in each. */
export const LEFT_PX = 84;
export const RIGHT_PX = 20;
