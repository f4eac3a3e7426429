/** Where time begins and ends, in px from the sides: the same in every picture over time, so that one instant is one line down the page. */
export const LEFT = 84;
export const RIGHT = 20;
