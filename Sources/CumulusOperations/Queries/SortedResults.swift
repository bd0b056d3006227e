// The results of a search that may be on its page.
//
// `QuerySearch` holds it, and finds them in any order.

import CumulusModel
import CumulusStorage

/// The first results in their order, at most `limit` of them.
struct SortedResults: Sendable {
    struct Result: Sendable {
        var position: ResultPosition
        /// The record, if it was read and there was room for it; otherwise it is read for the page.
        var record: KeptRecord?
    }

    /// A record on the heap, so that results are small: they are moved often.
    final class KeptRecord: Sendable {
        let view: RecordView

        init(_ view: RecordView) { self.view = view }
    }

    private(set) var results: [Result] = []
    let limit: Int
    let sortKeys: [BoundQuery.SortKey]
    /// The bytes that the fields of all kept records may still take.
    private var room = 4 << 20

    init(limit: Int, sortKeys: [BoundQuery.SortKey]) {
        self.limit = limit
        self.sortKeys = sortKeys
    }

    /// Whether only results before the last position are still wanted.
    var isFull: Bool { results.count >= limit }

    var last: ResultPosition? { results.last?.position }

    /// The first sort key of the last position.
    var lastKey: ComparableValue?? { results.last?.position.keys.first }

    /// Adds a result; returns false if the same result is here already.
    mutating func add(_ position: ResultPosition, _ view: RecordView?) -> Bool {
        var (low, high) = (0, results.count)
        if let last, last.precedes(position, by: sortKeys) {
            // In a long search most results come too late.
            if isFull { return true }
            // In the order of results, each one comes after the last.
            low = high
        }
        while low < high {
            let middle = (low + high) / 2
            if results[middle].position.precedes(position, by: sortKeys) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        if low < results.count, !position.precedes(results[low].position, by: sortKeys) {
            return false
        }
        let kept = view.flatMap { $0.fields.count <= room ? KeptRecord($0) : nil }
        room -= kept?.view.fields.count ?? 0
        results.insert(Result(position: position, record: kept), at: low)
        if results.count > limit { room += results.removeLast().record?.view.fields.count ?? 0 }
        return true
    }
}

extension ResultPosition {
    /// The row of an index after which results come behind this position; nil means the index's
    /// first row.
    func firstRow(of query: BoundQuery) -> IndexRows.Start? {
        let value = keys.first ?? nil
        // The cursor was made when the column had another type.
        if let value, let type = query.sortKeys.first?.column.type, !value.fits(type) { return nil }
        return IndexRows.Start(value: value, name: name, isExact: query.sortKeys.count <= 1)
    }
}
