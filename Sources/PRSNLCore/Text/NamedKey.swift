/// A member of JSON whose name is not known before the program runs.
package struct NamedKey: CodingKey {
    package let stringValue: String
    package var intValue: Int? { Int(stringValue) }

    package init(_ name: String) { stringValue = name }
    package init(stringValue: String) { self.init(stringValue) }
    package init(intValue: Int) { self.init("\(intValue)") }
}
