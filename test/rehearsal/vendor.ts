/** The vendor of the dev environment, which the studio plays. */
export const vendorName = 'images';
