// Makes the types conform to `CVarArg` that do on Apple's platforms and not on Linux: objects,
// dates, data, arrays and sets.
//
// So `date as CVarArg` compiles, which Xcode proposes for the arguments of predicates. In
// `String(format:)` the sequence `%@` shows their description.

public import Foundation

// On Linux neither Swift nor Foundation declares these, and apps can't do without.

// swift-format-ignore: AvoidRetroactiveConformances
extension NSObject: @retroactive _CVarArgObject {
    /// The address of the object, which Swift keeps alive until the call returns.
    ///
    /// `NSString` has another conformance by itself, which encodes the same.
    public var _cVarArgEncoding: [Int] {
        [Int(bitPattern: Unmanaged.passUnretained(self).toOpaque())]
    }
}

// swift-format-ignore: AvoidRetroactiveConformances
extension Date: @retroactive _CVarArgObject {}

// swift-format-ignore: AvoidRetroactiveConformances
extension Data: @retroactive _CVarArgObject {}

// swift-format-ignore: AvoidRetroactiveConformances
extension Array: @retroactive _CVarArgObject {}

// swift-format-ignore: AvoidRetroactiveConformances
extension Set: @retroactive _CVarArgObject {}

extension _CVarArgObject where Self: CustomStringConvertible {
    /// The description, which Swift encodes in place of the value.
    public var _cVarArgObject: any CVarArg { NSString(string: description) }

    /// Never called, since Swift encodes `_cVarArgObject`.
    public var _cVarArgEncoding: [Int] { [] }
}
