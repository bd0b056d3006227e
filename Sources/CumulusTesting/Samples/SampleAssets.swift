// Assets whose bytes every implementation can make again: the assets of `proto/golden/chunks.txt`.

import Crypto
package import CumulusAssets
package import CumulusModel

package struct SampleAsset: Sendable {
    package let name: String
    package let content: Bytes

    package static let all: [SampleAsset] = {
        let whole = stream(4_000_000)
        return [
            SampleAsset(name: "empty", content: []),
            SampleAsset(name: "one byte", content: Bytes("a".utf8)),
            SampleAsset(name: "smallest", content: stream(ContentCutter.smallest)),
            SampleAsset(name: "smallest and one", content: stream(ContentCutter.smallest + 1)),
            SampleAsset(name: "zeros", content: Bytes(repeating: 0, count: 2_500_000)),
            SampleAsset(name: "stream", content: whole),
            SampleAsset(
                name: "stream with a byte inserted",
                content: whole[..<1_000] + Bytes("!".utf8) + whole[1_000...]
            ),
            SampleAsset(name: "stream twice", content: stream(700_000) + stream(700_000)),
        ]
    }()

    /// SHA-256 over "cumulus sample" and a number of eight bytes, for one number after the other.
    package static func stream(_ length: Int, from first: UInt64 = 0) -> Bytes {
        var content: Bytes = []
        content.reserveCapacity(length + 32)
        for number in first...first + UInt64(length / 32) {
            let place = withUnsafeBytes(of: number.bigEndian, Bytes.init)
            content += Bytes(SHA256.hash(data: Bytes("cumulus sample".utf8) + place))
        }
        return Bytes(content.prefix(length))
    }

    /// A list of chunks of these sizes, with digests that tell them apart.
    package static func list(of sizes: [Int]) -> ChunkList {
        var list = ChunkList()
        for (index, size) in sizes.enumerated() {
            let digest = Bytes(SHA256.hash(data: Bytes("\(index)".utf8)))
            list.append(ChunkList.Entry(digest: digest, size: size))
        }
        return list
    }
}
