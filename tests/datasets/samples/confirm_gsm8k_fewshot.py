"""Works out the problems of the few-shot pool from the numbers in their statements (see confirm_gsm8k_first)."""

from fractions import Fraction

from sample_files import Confirmations

CONFIRM = Confirmations()


@CONFIRM.of("gsm8k-sample-fewshot/001")
def notebooks(amount, price, pen, note):
    return note - sum([price] * amount) - pen


@CONFIRM.of("gsm8k-sample-fewshot/002")
def car_park(levels, places, early, taken, late, came, left, asked):
    assert (early, late) == (8, asked)
    free = levels * places * (1 - taken)
    return free - came + left


@CONFIRM.of("gsm8k-sample-fewshot/003")
def lake(distance, run, rest, walk):
    return sum(run + walk for _ in range(distance)) + rest


@CONFIRM.of("gsm8k-sample-fewshot/004")
def town(people, growth, loss):
    return people * (1 + Fraction(growth, 100)) - loss


@CONFIRM.of("gsm8k-sample-fewshot/005")
def boards(board_count, metres, piece):
    return board_count * (metres * 100 % piece)


@CONFIRM.of("gsm8k-sample-fewshot/006")
def choir(members, children, child_solos, adult_percent):
    return members * children * child_solos + members * (1 - children) * Fraction(adult_percent, 100)


@CONFIRM.of("gsm8k-sample-fewshot/007")
def flower_stall(balance, vases, repairs, bunches, price):
    for change in [-vases, -repairs, *[price] * bunches]:
        balance += change
    return balance


@CONFIRM.of("gsm8k-sample-fewshot/008")
def siblings(older, together):
    ages = [2 * b + older for b in range(together) if b + 2 * b + older == together]
    assert len(ages) == 1
    return ages[0]


@CONFIRM.of("gsm8k-sample-fewshot/009")
def presses(fast, slow, order):
    fast_done = slow_done = 0
    while fast_done + slow_done < order:
        fast_done, slow_done = fast_done + fast, slow_done + slow
    assert fast_done + slow_done == order
    return fast_done


@CONFIRM.of("gsm8k-sample-fewshot/010")
def apples(box_price, apple_count, bad, price, boxes):
    return boxes * ((apple_count - bad) * price - box_price)


@CONFIRM.of("gsm8k-sample-fewshot/011")
def cinema(hour, minute, adverts, film, walk, bus_hour, bus_minute):
    return (bus_hour * 60 + bus_minute) - (hour * 60 + minute + adverts + film + walk)


@CONFIRM.of("gsm8k-sample-fewshot/012")
def shells(dozens, share, fewer):
    aiko = dozens * 12
    piet = aiko * share
    return aiko + piet + (aiko + piet - fewer)
