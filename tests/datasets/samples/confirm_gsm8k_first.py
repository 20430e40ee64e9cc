"""Works out problems 001 to 024 of gsm8k-sample from the numbers in their statements.

The arguments are the statement's numerals in order. Where it can, a function acts the story out or searches, instead
of repeating the arithmetic of the worked solution.
"""

from fractions import Fraction
from itertools import count

from sample_files import Confirmations

CONFIRM = Confirmations()


@CONFIRM.of("gsm8k-sample/001")
def bracelets(small_each, large_each, small, large):
    done = 0
    while small >= small_each and large >= large_each:
        small, large, done = small - small_each, large - large_each, done + 1
    return done


@CONFIRM.of("gsm8k-sample/002")
def tram(adult_fare, children):
    fares = [Fraction(adult_fare)] * 2 + [Fraction(adult_fare, 2)] * children
    return sum(fares + fares)


@CONFIRM.of("gsm8k-sample/003")
def rolls(baked, noon_percent, afternoon_share):
    return baked * (1 - Fraction(noon_percent, 100)) * (1 - afternoon_share)


@CONFIRM.of("gsm8k-sample/004")
def pumps(blue, red, capacity, alone):
    water = 0
    for minute in count(1):
        water += blue + (red if minute > alone else 0)
        if water >= capacity:
            return minute
    return None


@CONFIRM.of("gsm8k-sample/005")
def train(start_hour, start_minute, end_hour, end_minute, at_station, stations, at_signal):
    minutes = range(start_hour * 60 + start_minute, end_hour * 60 + end_minute)
    return len(minutes) - sum([at_station] * stations) - at_signal


@CONFIRM.of("gsm8k-sample/006")
def printing(low, threshold, high, pages):
    return sum(low if page <= threshold else high for page in range(1, pages + 1))


@CONFIRM.of("gsm8k-sample/007")
def thermometer(start, degrees, drop, end, rise):
    for _ in range(start, end):
        degrees -= drop
    return degrees + rise


@CONFIRM.of("gsm8k-sample/008")
def quiz(right_points, wrong_cost, questions, right, skipped):
    points = [right_points] * right + [0] * skipped
    points += [-wrong_cost] * (questions - len(points))
    return sum(points)


@CONFIRM.of("gsm8k-sample/009")
def tulips(row_count, first, step, bag):
    bulbs = sum(first + step * row for row in range(row_count))
    return next(bags for bags in count() if bags * bag >= bulbs)


@CONFIRM.of("gsm8k-sample/010")
def aunt(times_now, years, times_then):
    nephews = [n for n in range(1, 100) if times_now * n + years == times_then * (n + years)]
    assert len(nephews) == 1
    return times_now * nephews[0]


@CONFIRM.of("gsm8k-sample/011")
def ribbon(length, sides, bow):
    presents = 0
    while length >= sides + bow:
        length, presents = length - sides - bow, presents + 1
    return presents


@CONFIRM.of("gsm8k-sample/012")
def soup(recipe_people, grams, onions, people, pumpkin_grams, pumpkin_price, onion_price):
    pumpkins = next(n for n in count() if n * pumpkin_grams * recipe_people >= grams * people)
    return pumpkins * pumpkin_price + Fraction(onions * people, recipe_people) * onion_price


@CONFIRM.of("gsm8k-sample/013")
def cyclists(distance, fast, slow):
    # Both have ridden equally long when they meet, so the road is shared in the ratio of the speeds.
    return Fraction(distance * fast, fast + slow)


@CONFIRM.of("gsm8k-sample/014")
def library(books, months, bought, thrown, given):
    for _ in range(months):
        books = books + bought - thrown
    return books - books * given


@CONFIRM.of("gsm8k-sample/015")
def jacket(price, sale, club, note):
    return note - price * Fraction(100 - sale, 100) * Fraction(100 - club, 100)


@CONFIRM.of("gsm8k-sample/016")
def spelling(first, second, third, fourth, wanted):
    return next(s for s in range(1000) if Fraction(first + second + third + fourth + s, 5) == wanted)


@CONFIRM.of("gsm8k-sample/017")
def painters(days_alone, days_before, joining):
    done, team = Fraction(0), 5
    job = Fraction(team * days_alone)
    for day in count(1):
        done += team if day <= days_before else team + joining
        if done >= job:
            return day
    return None


@CONFIRM.of("gsm8k-sample/018")
def concrete(cement, sand, gravel, kilograms):
    part = next(p for p in range(1, kilograms) if p * (cement + sand + gravel) == kilograms)
    return part * gravel - part * cement


@CONFIRM.of("gsm8k-sample/019")
def museum(pupils, teachers, seats, bus_price, entry):
    buses = next(n for n in count() if n * seats >= pupils + teachers)
    return Fraction(buses * bus_price + pupils * entry, pupils)


@CONFIRM.of("gsm8k-sample/020")
def lawn(length, width, path, price):
    inside = {(x, y) for x in range(length) for y in range(width)}
    outside = {(x, y) for x in range(-path, length + path) for y in range(-path, width + path)}
    return price * len(outside - inside)


@CONFIRM.of("gsm8k-sample/021")
def phone(monthly, included, cents, march, april, may):
    bills = [100 * monthly + cents * max(0, minutes - included) for minutes in (march, april, may)]
    return Fraction(sum(bills), 100)


@CONFIRM.of("gsm8k-sample/022")
def farm(times, fewer, animals):
    goats = [g for g in range(fewer, animals) if times * g + g + (g - fewer) == animals]
    assert len(goats) == 1
    return times * goats[0]


@CONFIRM.of("gsm8k-sample/023")
def novel(pages, first_day, more):
    for day in range(7):
        pages -= first_day + more * day
    return pages


@CONFIRM.of("gsm8k-sample/024")
def candles(white, white_rate, green, green_rate):
    hours = [h for h in range(1, 12) if white - white_rate * h == green - green_rate * h]
    assert len(hours) == 1
    return hours[0]
