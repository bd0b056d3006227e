// Valid and invalid `traceparent` fields, byte by byte.

import CumulusModel
import CumulusTesting
import Testing

@Suite struct TraceContextTests {
    private static let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    private static let digits = Set("0123456789abcdef".utf8)

    @Test func aTraceparentIsReadAndWritten() throws {
        let trace = try #require(TraceContext(traceparent: Self.text))
        #expect(trace.traceID == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(trace.parentID == "00f067aa0ba902b7")
        #expect(trace.isSampled)
        #expect(trace.traceparent == Self.text)
    }

    /// Every byte of it, replaced by every other.
    @Test func everyByteCounts() {
        let bytes = Bytes(Self.text.utf8)
        for place in bytes.indices {
            for byte in UInt8.min...UInt8.max where byte != bytes[place] {
                var changed = bytes
                changed[place] = byte
                let trace = TraceContext(traceparent: changed)
                switch place {
                case 2, 35, 52: #expect(trace == nil, "\(byte) at \(place)")
                default:
                    #expect((trace != nil) == Self.digits.contains(byte), "\(byte) at \(place)")
                }
                guard let trace else { continue }
                // Written fields have this version, and no flags that it does not know.
                #expect(TraceContext(traceparent: trace.traceparent) == trace)
                #expect(trace.traceID.utf8.elementsEqual(changed[3..<35]))
                #expect(trace.parentID.utf8.elementsEqual(changed[36..<52]))
            }
        }
    }

    @Test func damagedOnesAreReadOrIgnored() {
        let bytes = Bytes(Self.text.utf8)
        for cut in Damage.truncations(of: bytes) { #expect(TraceContext(traceparent: cut) == nil) }
        for byte in UInt8.min...UInt8.max {
            #expect(TraceContext(traceparent: bytes + [byte]) == nil)
        }
        var dice = SeededGenerator(seed: 1)
        for _ in 0..<10_000 {
            let changed = Damage.mutation(of: bytes, using: &dice)
            guard let trace = TraceContext(traceparent: changed) else { continue }
            #expect(TraceContext(traceparent: trace.traceparent) == trace)
        }
    }

    @Test(arguments: [
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false),
        ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false),
        ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
        ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
        ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", true),
        ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more", false),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", false),
        (" 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false), ("", false),
    ])
    func theRecommendationsCases(text: String, isValid: Bool) {
        #expect((TraceContext(traceparent: text) != nil) == isValid)
    }

    @Test func aStepStaysInItsTrace() throws {
        let trace = try #require(TraceContext(traceparent: Self.text))
        #expect(trace.step(0xAB).traceparent == "00-\(trace.traceID)-00000000000000ab-01")
        // An id is never zero.
        #expect(TraceContext(traceparent: trace.step(0).traceparent) != nil)
    }
}
