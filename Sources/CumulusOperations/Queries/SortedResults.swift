// The results of a search that may be on its page.
//
// Held by `QuerySearch`, which finds them in any order.

import CumulusModel
import CumulusStorage

/// The first results in their order, at most so many.
struct SortedResults: Sendable {
    struct Result: Sendable {
        var place: ResultPlace
        /// The record, if it was read and there was room for it; else it is read for the page.
        var record: KeptRecord?
    }

    /// Apart, so that results are small: they are moved often.
    final class KeptRecord: Sendable {
        let view: RecordView

        init(_ view: RecordView) { self.view = view }
    }

    private(set) var results: [Result] = []
    let limit: Int
    let sortKeys: [BoundQuery.SortKey]
    /// What the fields of all records that are kept may take together.
    private var room = 4 << 20

    init(limit: Int, sortKeys: [BoundQuery.SortKey]) {
        self.limit = limit
        self.sortKeys = sortKeys
    }

    /// Only what comes before the last place is wanted any more.
    var isFull: Bool { results.count >= limit }

    var last: ResultPlace? { results.last?.place }

    /// The first sort key of the last place.
    var lastKey: ComparableValue?? { results.last?.place.keys.first }

    /// Whether it is another one than those that are here.
    mutating func add(_ place: ResultPlace, _ view: RecordView?) -> Bool {
        var (low, high) = (0, results.count)
        if let last, last.precedes(place, by: sortKeys) {
            // Of a long way most come too late.
            if isFull { return true }
            // On a way in the order of results each comes behind the last one.
            low = high
        }
        while low < high {
            let middle = (low + high) / 2
            if results[middle].place.precedes(place, by: sortKeys) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        if low < results.count, !place.precedes(results[low].place, by: sortKeys) { return false }
        let kept = view.flatMap { $0.fields.count <= room ? KeptRecord($0) : nil }
        room -= kept?.view.fields.count ?? 0
        results.insert(Result(place: place, record: kept), at: low)
        if results.count > limit { room += results.removeLast().record?.view.fields.count ?? 0 }
        return true
    }
}

extension ResultPlace {
    /// Where a way through an index begins whose results come behind this one; nil: at its first
    /// row.
    func firstRow(of query: BoundQuery) -> IndexRows.Start? {
        let value = keys.first ?? nil
        // The column had another type when the cursor was made.
        if let value, let type = query.sortKeys.first?.column.type, !value.fits(type) { return nil }
        return IndexRows.Start(value: value, name: name, isExact: query.sortKeys.count <= 1)
    }
}
