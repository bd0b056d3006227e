// How much a page of a feed brings: its fields are counted, and its notifications are not read.
//
// Made by each follower of `BenchFollowers` for each page.

import CumulusModel

struct BenchPage: Equatable {
    var notifications = 0
    var token: Bytes = []
    /// The follower is up to date.
    var isCheckpoint = false
    var isReset = false

    /// - Parameter bytes: A `FeedPage`.
    init(wire bytes: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(bytes)
        while let (number, type) = try reader.nextField() {
            switch number {
            case 2: token = try reader.delimitedBytes()
            case 3: isCheckpoint = try reader.varint() == 1
            default:
                notifications += number == 1 ? 1 : 0
                isReset = isReset || number == 4
                try reader.skip(type)
            }
        }
    }
}
