// Records of a type in the order of their names: a list that needs no index.
//
// A list goes through all records of a zone, of any type. One call looks at a bounded number of
// them; the page asks on from the last name.

import CumulusModel
import CumulusNode
import CumulusWire

extension ConsoleCall {
    /// Records that one call looks at.
    private static let mostLooks = 20_000

    /// `after` is the name where the call before ended; an answer without one is the last.
    func list() async throws -> ConsoleReply {
        let scope = try scope()
        let type = try values.needed("type")
        let limit = min(try values.count("limit") ?? 50, WebLimits.items)
        let message = ListRecordsRequest(
            database: try database(),
            zone: WireZoneID(try zone()),
            after: Bytes((try values.string("after") ?? "").utf8)
        )
        let calls = try await caller(in: scope)
        defer { calls.close() }
        let columns = try await calls.columns(of: [type])[type] ?? [:]
        let stream = await calls.follow(.recordsList, message.encoded())
        defer { stream.cancel() }
        var found: [Record] = []
        var looks = 0
        var last: String?
        pages: while let page = try await stream.next() {
            for record in try ListRecordsResponse(wire: page).records {
                if found.count == limit || looks == ConsoleCall.mostLooks { break pages }
                looks += 1
                last = record.recordID.recordName
                if record.recordType == type { found.append(record) }
            }
            if found.count == limit || looks == ConsoleCall.mostLooks { break }
        }
        let isCut = found.count == limit || looks == ConsoleCall.mostLooks
        let writer = WebRecordWriter(WebFieldWriter(numbersAsStrings: true, user: calls.user))
        let records = found.map { writer.json($0, columns: columns) }
        var members: [JSON.Member] = [.init("records", .array(records))]
        if isCut, let last { members.append(.init("after", .string(last))) }
        return .json(members)
    }
}
