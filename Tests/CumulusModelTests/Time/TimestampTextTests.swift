// Moments as ISO 8601 text.

import CumulusModel
import Testing

@Suite struct TimestampTextTests {
    @Test(arguments: [
        ("0001-01-01T00:00:00.000Z", Timestamp.range.lowerBound),
        ("1582-10-10T00:00:00.000Z", -12_219_724_800_000),
        ("1969-12-31T23:59:59.999Z", -1),
        ("1970-01-01T00:00:00.000Z", 0),
        ("2000-02-29T00:00:00.000Z", 951_782_400_000),
        ("2026-11-21T03:45:34.590Z", 1_795_232_734_590),
        ("9999-12-31T23:59:59.999Z", Timestamp.range.upperBound),
    ])
    func mapsBothWays(text: String, milliseconds: Int64) {
        #expect(Timestamp(text: text)?.millisecondsSince1970 == milliseconds)
        #expect(Timestamp(millisecondsSince1970: milliseconds).text == text)
    }

    @Test(arguments: [-27_028, 9_496] as [Int64])
    func everyDayOfNineYearsComesBack(first: Int64) {
        // 1896 to 1904 without a leap day in 1900, 1996 to 2004 with one in 2000.
        let day: Int64 = 86_400_000
        for number in first..<first + 3_287 {
            let moment = Timestamp(millisecondsSince1970: number * day)
            #expect(Timestamp(text: moment.text) == moment)
        }
    }

    @Test(arguments: [
        ("2024-02-29", "2024-02-29T00:00:00.000Z"),
        ("2024-02-29T12:30Z", "2024-02-29T12:30:00.000Z"),
        ("2024-02-29T12:30:05Z", "2024-02-29T12:30:05.000Z"),
        ("2024-02-29t12:30:05.1z", "2024-02-29T12:30:05.100Z"),
        ("2024-02-29 12:30:05.123456Z", "2024-02-29T12:30:05.123Z"),
        ("2024-02-29T00:30:00+01:00", "2024-02-28T23:30:00.000Z"),
        ("2024-02-29T23:30:00-0130", "2024-03-01T01:00:00.000Z"),
    ])
    func readsShorterForms(text: String, expected: String) {
        #expect(Timestamp(text: text)?.text == expected)
    }

    @Test(arguments: [
        "", "2024", "2024-2-9", "2024-13-01", "2024-00-01", "2024-01-00", "2024-04-31",
        "2023-02-29", "1900-02-29", "0000-01-01", "10000-01-01", "2024-01-01T12:00",
        "2024-01-01T24:00Z", "2024-01-01T12:60Z", "2024-01-01T12:00:60Z",
        "2024-01-01T12:00+24:00", "2024-01-01T12:00+01:60", "2024-01-01x",
        "0001-01-01T00:00+00:01", "9999-12-31T23:59-00:01", "٢٠٢٤-01-01",
    ])
    func refuses(text: String) {
        #expect(Timestamp(text: text) == nil)
    }
}
