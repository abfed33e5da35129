//go:build reliability

package reliability

import "regexp"

// difference is a reason why pipetune and another library do not agree about a file.
type difference struct {
	fits   *regexp.Regexp // agreement.add's words for such a file
	reason string         // what those files do or are, for the row
}

// differences lists the reasons by the folder of the corpus. What fits none of them fails the trial.
var differences = map[string][]difference{
	"hdf5": {
		{regexp.MustCompile(`the elements are not stored in place`),
			"hold strings, sequences or references in the dataset that samples are likely to be in, which pipetune " +
				"does not read"},
		{regexp.MustCompile(`a filter is missing`), "need a filter that libhdf5 lacks and h5py brings along or does " +
			"without"},
		{regexp.MustCompile(`likely to be in: \d+ objects could not be read`),
			"have broken objects where their samples may be, and something that h5py reads beside"},
	},
	"pictures": {
		{regexp.MustCompile(`bmp: unsupported BMP`), "are of a kind that x/image/bmp does not support"},
		{regexp.MustCompile(
			`tiff: unsupported feature|not enough pixel data|tiff: invalid format: wrong number of samples|tags are not sorted`), "are of a kind that x/image/tiff does not support"},
		{regexp.MustCompile(
			`\(tiff\): (ccitt|lzw|unexpected EOF)|bmp: invalid palette index|gif: (invalid pixel|no color table|pixel size|frame bounds)|png: invalid format: (invalid checksum|too much pixel data)`), "are damaged for Go's decoders and not for Pillow"},
		{regexp.MustCompile(`its first frame does not fill`), "are GIFs whose first frame does not fill the picture"},
		{regexp.MustCompile(`webp: invalid format`), "are animated WebP, which x/image/webp does not support"},
		{regexp.MustCompile(`^read as bytes`), "are of no format that pipetune knows, and read as bytes"},
		{regexp.MustCompile(`^read; Pillow: `), "are decoded, and refused by Pillow"},
		{regexp.MustCompile(`^other bytes.*turned as its orientation tag says`),
			"are TIFFs that only Pillow turns as their tag says"},
		{regexp.MustCompile(`^other bytes.*its bits are in reverse order`),
			"are TIFFs whose bits only Pillow puts in order"},
		{regexp.MustCompile(`^other bytes.*tiles of 16 bits reach over its edge`),
			"are TIFFs of wide tiles whose ends x/image/tiff takes for pixels"},
		{regexp.MustCompile(`^other bytes.*gray with a transparent color`),
			"are gray GIFs with a transparent color, which is alpha here"},
		{regexp.MustCompile(`^other bytes.*an index that its palette lacks`),
			"have colors that their palette lacks, black here and gray in Pillow"},
	},
}
