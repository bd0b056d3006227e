// Moments as ISO 8601 text, to the millisecond, in the years 1 to 9999.
//
// The calendar is the Gregorian one throughout, also before 1582, as ISO 8601 has it; Foundation's
// formatters change to the Julian one there. Used by command lines and by predicates in text form.

extension Timestamp {
    /// `2024-02-29T12:00:00.000Z`.
    package var text: String {
        let (day, time) = floorDivide(millisecondsSince1970, Timestamp.dayMilliseconds)
        let (year, month, monthDay) = Timestamp.date(day: day)
        let date = [padded(year, 4), padded(month, 2), padded(monthDay, 2)].joined(separator: "-")
        let clock = [time / 3_600_000, time / 60_000 % 60, time / 1_000 % 60]
            .map { padded($0, 2) }.joined(separator: ":")
        return "\(date)T\(clock).\(padded(time % 1_000, 3))Z"
    }

    /// Reads that form, and shorter ones.
    ///
    /// The fraction, the seconds or the time of day (midnight) may be missing. The zone is `Z` or
    /// `±HH:MM`, and must be there if a time is.
    package init?(text: String) {
        guard let match = text.wholeMatch(of: Timestamp.pattern) else { return nil }
        func number(_ digits: Substring?) -> Int64 { digits.flatMap { Int64($0) } ?? 0 }
        let (_, year, month, day, hour, minute, second, fraction, zone) = match.output
        let (date, time) = (number(month), number(hour ?? "0"))
        guard (1...12).contains(date), number(year) >= 1, time < 24, number(minute ?? "0") < 60,
            number(second ?? "0") < 60,
            let days = Timestamp.day(year: number(year), month: date, day: number(day)),
            let offset = Timestamp.offset(zone ?? "Z")
        else { return nil }
        let thousandths = ((fraction ?? "") + "000").prefix(3)
        let seconds = time * 3_600 + number(minute ?? "0") * 60 + number(second ?? "0")
        self.init(
            millisecondsSince1970: days * Timestamp.dayMilliseconds + seconds * 1_000
                + number(thousandths) - offset
        )
        guard Timestamp.range.contains(millisecondsSince1970) else { return nil }
    }

    // Safe: an immutable regular expression without transformations.
    private nonisolated(unsafe) static let pattern =
        #/
        ([0-9]{4})-([0-9]{2})-([0-9]{2})
        (?:
            [Tt\ ] ([0-9]{2}):([0-9]{2}) (?: :([0-9]{2}) (?: [.,]([0-9]{1,9}) )? )?
            ( [Zz] | [+-][0-9]{2}:?[0-9]{2} )
        )?
        /#

    private static let dayMilliseconds: Int64 = 86_400_000

    /// Milliseconds to take away to get UTC.
    private static func offset(_ zone: Substring) -> Int64? {
        let digits = zone.filter(\.isNumber)
        guard let sign = zone.first, let number = Int64(digits) else { return 0 }
        guard number / 100 < 24, number % 100 < 60 else { return nil }
        let milliseconds = (number / 100 * 60 + number % 100) * 60_000
        return sign == "-" ? -milliseconds : milliseconds
    }

    // MARK: Calendar

    // Years begin in March here, so that the leap day is the last; 400 of them are 146,097 days.

    /// Days since 1970; nil for a day that isn't in the calendar.
    private static func day(year: Int64, month: Int64, day: Int64) -> Int64? {
        let shifted = month > 2 ? year : year - 1
        let (era, yearOfEra) = floorDivide(shifted, 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let result = era * 146_097 + dayOfEra - 719_468
        guard day >= 1, date(day: result) == (year, month, day) else { return nil }
        return result
    }

    private static func date(day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = floorDivide(day + 719_468, 146_097)
        let leapDays = dayOfEra / 1_460 - dayOfEra / 36_524 + dayOfEra / 146_096
        let yearOfEra = (dayOfEra - leapDays) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = (shiftedMonth + 2) % 12 + 1
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}

private func floorDivide(_ number: Int64, _ divisor: Int64) -> (quotient: Int64, rest: Int64) {
    let (quotient, rest) = number.quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
}

private func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
