"""Works out problems 025 to 049 of gsm8k-sample from the numbers in their statements (see confirm_gsm8k_first)."""

from fractions import Fraction
from itertools import count
from math import ceil

from sample_files import Confirmations

CONFIRM = Confirmations()


@CONFIRM.of("gsm8k-sample/025")
def piano(borrowed, fee, instalments, instalment):
    return sum([instalment] * instalments, fee) - borrowed


@CONFIRM.of("gsm8k-sample/026")
def hens(hen_count, eggs, dozen_price, feed, weeks):
    return weeks * (Fraction(hen_count * eggs * dozen_price, 12) - feed)


@CONFIRM.of("gsm8k-sample/027")
def lift(limit, porter, boxes, box):
    trips = 0
    while boxes > 0:
        load, trips = porter, trips + 1
        while boxes > 0 and load + box <= limit:
            load, boxes = load + box, boxes - 1
    return trips


@CONFIRM.of("gsm8k-sample/028")
def barrel(capacity, full, used, storm):
    return capacity - (capacity * full * (1 - used) + storm)


@CONFIRM.of("gsm8k-sample/029")
def theatre(seat_rows, seats, friday_share, friday_price, saturday_price):
    return seat_rows * seats * (friday_share * friday_price + saturday_price)


@CONFIRM.of("gsm8k-sample/030")
def clock(gain, every):
    monday_noon, thursday_noon = 12, 3 * 24 + 12
    return Fraction(gain, every) * (thursday_noon - monday_noon)


@CONFIRM.of("gsm8k-sample/031")
def marbles(lead, given):
    results = {(ben + given) - (ben + lead - given) for ben in range(50)}
    assert len(results) == 1, "the answer must not depend on how many Ben had"
    return results.pop()


@CONFIRM.of("gsm8k-sample/032")
def van(litres, per, more, distance, price):
    out = Fraction(litres, per) * distance
    back = Fraction(litres, per) * (1 + more) * distance
    return (out + back) * price


@CONFIRM.of("gsm8k-sample/033")
def coins(total, small, large, dollars, asked):
    assert asked == large
    found = [n for n in range(total + 1) if n * large + (total - n) * small == dollars * 100]
    assert len(found) == 1
    return found[0]


@CONFIRM.of("gsm8k-sample/034")
def wages(hourly, normal_hours, hours, tax):
    pay = sum(hourly if hour <= normal_hours else hourly * Fraction(3, 2) for hour in range(1, hours + 1))
    return pay * Fraction(100 - tax, 100)


@CONFIRM.of("gsm8k-sample/035")
def duckweed(every, area, days):
    for day in range(1, days + 1):
        area *= 2 if day % every == 0 else 1
    return area


@CONFIRM.of("gsm8k-sample/036")
def tiles(length, width, side, extra, box):
    needed = (length * 100 / side) * (width * 100 / side)
    assert needed.denominator == 1
    return ceil(Fraction(ceil(needed * (1 + Fraction(extra, 100))), box))


@CONFIRM.of("gsm8k-sample/037")
def mascot(pupils, voting, owl_share, otter):
    votes = pupils * Fraction(voting, 100)
    ranking = sorted([votes * owl_share, otter, votes - votes * owl_share - otter], reverse=True)
    return ranking[0] - ranking[1]


@CONFIRM.of("gsm8k-sample/038")
def ferry(capacity, crossing, returning, cars):
    minutes = 0
    while True:
        minutes, cars = minutes + crossing, cars - capacity
        if cars <= 0:
            return minutes
        minutes += returning


@CONFIRM.of("gsm8k-sample/039")
def seeds(packet, sprout, eaten, tray):
    return Fraction(packet * sprout, 100) * (1 - eaten) / tray


@CONFIRM.of("gsm8k-sample/040")
def sisters(prize, more):
    youngest = [y for y in range(prize) if 2 * y + (y + more) + y == prize]
    assert len(youngest) == 1
    return youngest[0] + more


@CONFIRM.of("gsm8k-sample/041")
def rent(monthly, raise_percent, raise_dollars):
    second = monthly * (1 + Fraction(raise_percent, 100))
    return sum([monthly] * 12 + [second] * 12 + [second + raise_dollars] * 12)


@CONFIRM.of("gsm8k-sample/042")
def honey(hives, kilograms, kept, jar, price):
    grams = hives * kilograms * 1000 * (1 - kept)
    return grams / jar * price


@CONFIRM.of("gsm8k-sample/043")
def hikers(hours, litres, bottle):
    thirst = sum(litres for _ in range(5) for _ in range(hours))
    return next(n for n in count() if n * bottle >= thirst)


@CONFIRM.of("gsm8k-sample/044")
def doors(first, last, price):
    return price * len("".join(str(door) for door in range(first, last + 1)))


@CONFIRM.of("gsm8k-sample/045")
def concert(sandwich, left):
    start = [m for m in range(1000) if (Fraction(m, 2) - sandwich) / 2 == left]
    assert len(start) == 1
    return start[0]


@CONFIRM.of("gsm8k-sample/046")
def lamps(made, failing, repaired_price, good_price, days):
    failed = made * Fraction(failing, 100)
    return days * ((made - failed) * good_price + failed / 2 * repaired_price)


@CONFIRM.of("gsm8k-sample/047")
def fence(length, gap, post, wire):
    posts = len(range(0, length + 1, gap))
    return posts * post + 3 * length * wire


@CONFIRM.of("gsm8k-sample/048")
def parcels(first, further, *kilograms):
    assert len(kilograms) == 3
    return sum(first + further * max(0, ceil(weight) - 1) for weight in kilograms)


@CONFIRM.of("gsm8k-sample/049")
def punch(oranges, sugar, cups, orange_price, sugar_price, saturday, sunday, unsold, cup_price):
    balance = -unsold * cup_price
    for _kettle in range(saturday + sunday):
        balance += cups * cup_price - oranges * orange_price - sugar * sugar_price
    return balance
