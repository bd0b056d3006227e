// How long the tolerant reader takes for a request, beside libprotobuf-c, which nodes read it with.
//
// By hand: with `CUMULUS_MEASURE=1` in the environment it prints the time of one request per
// message. Without it, it only holds the two readings against each other.

import CumulusModel
import CumulusRequests
import CumulusTesting
import CumulusWire
import Foundation
import Testing

@Suite(.serialized) struct ReadingSpeedTests {
    private static let isMeasured =
        ProcessInfo.processInfo.environment["CUMULUS_MEASURE"] == "1"

    /// Reads a request by both readers; prints the shorter of several times for each.
    private static func compare<Request: Coded & Equatable>(
        _ name: String,
        _ bytes: Bytes,
        _ library: @escaping (Bytes) throws -> Request
    ) throws {
        let tolerant = { (bytes: Bytes) in try Request(tolerant: bytes, growth: 16) }
        #expect(try library(bytes) == tolerant(bytes))
        guard isMeasured else { return }
        let rounds = max(20, 20_000_000 / bytes.count)
        var times = [(Double.infinity, "libprotobuf-c"), (Double.infinity, "tolerant reader")]
        for _ in 0..<5 {
            for (index, read) in [library, tolerant].enumerated() {
                let start = clock()
                for _ in 0..<rounds { _ = try read(bytes) }
                let seconds = Double(clock() - start) / Double(CLOCKS_PER_SEC)
                times[index].0 = min(times[index].0, seconds / Double(rounds))
            }
        }
        for (seconds, reader) in times {
            print("\(name), \(bytes.count) bytes, \(reader): \(Int(seconds * 1e9)) ns")
        }
    }

    @Test(arguments: [1, 20, 400]) func fetchRecords(count: Int) throws {
        let zone = WireZoneID(RecordZone.ID(zoneName: "Trips"))
        let request = FetchRecordsRequest(
            database: .private,
            ids: (0..<count).map { WireRecordID(name: Bytes("city-\($0)".utf8), zone: zone) },
            keys: ["name", "country", "population"].map { Bytes($0.utf8) }
        )
        try Self.compare("FetchRecordsRequest of \(count)", request.encoded()) {
            try FetchRecordsRequest(wire: $0)
        }
    }

    @Test(arguments: [1, 20, 400]) func modifyRecords(count: Int) throws {
        var dice = SeededGenerator(seed: 7)
        let saves = (0..<count).map { index in
            let id = Record.ID(recordName: "city-\(index)")
            var record = Record(recordType: "City", recordID: id)
            record.recordChangeTag = "0102030405060708"
            for field in 0..<12 {
                let number = UInt32.random(in: 0...99_999, using: &dice)
                record["field\(field)"] = .string(String(number))
            }
            return record.encodedSave(allKeys: false)
        }
        let request = ModifyRecordsRequest(
            database: .private,
            policy: 0,
            isAtomic: true,
            saves: saves,
            deletes: []
        )
        try Self.compare("NodeModifyRecordsRequest of \(count)", request.encoded()) {
            try NodeModifyRecordsRequest(wire: $0)
        }
    }
}
